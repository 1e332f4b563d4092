#ifndef ICODEC_LIBJPEG_CALLS_H
#define ICODEC_LIBJPEG_CALLS_H

#include <stdio.h>

#include <jpeglib.h>

#include "libraries.h"

// The functions of libjpeg in use, called by pointers that are set when the library is opened.

#define ICODEC_JPEG_CALLS(CALL) \
    CALL(jpeg_CreateCompress) CALL(jpeg_CreateDecompress) CALL(jpeg_calc_output_dimensions) \
    CALL(jpeg_consume_input) CALL(jpeg_destroy_compress) \
    CALL(jpeg_destroy_decompress) CALL(jpeg_finish_compress) CALL(jpeg_finish_decompress) CALL(jpeg_finish_output) CALL(jpeg_has_multiple_scans) \
    CALL(jpeg_read_header) CALL(jpeg_read_scanlines) CALL(jpeg_resync_to_restart) CALL(jpeg_set_colorspace) \
    CALL(jpeg_set_defaults) CALL(jpeg_set_marker_processor) CALL(jpeg_set_quality) CALL(jpeg_simple_progression) \
    CALL(jpeg_start_compress) CALL(jpeg_start_decompress) CALL(jpeg_start_output) CALL(jpeg_std_error) \
    CALL(jpeg_write_icc_profile) CALL(jpeg_write_m_byte) CALL(jpeg_write_m_header) CALL(jpeg_write_scanlines)

typedef struct {
    ICODEC_JPEG_CALLS(ICODEC_MEMBER)
} icodec_jpeg_calls;

extern icodec_jpeg_calls icodec_libjpeg;

bool icodec_open_libjpeg(icodec_error *error);

#ifndef ICODEC_LOADS_LIBRARIES
#define jpeg_CreateCompress icodec_libjpeg.jpeg_CreateCompress
#define jpeg_CreateDecompress icodec_libjpeg.jpeg_CreateDecompress
#define jpeg_calc_output_dimensions icodec_libjpeg.jpeg_calc_output_dimensions
#define jpeg_consume_input icodec_libjpeg.jpeg_consume_input
#define jpeg_destroy_compress icodec_libjpeg.jpeg_destroy_compress
#define jpeg_destroy_decompress icodec_libjpeg.jpeg_destroy_decompress
#define jpeg_finish_compress icodec_libjpeg.jpeg_finish_compress
#define jpeg_finish_decompress icodec_libjpeg.jpeg_finish_decompress
#define jpeg_finish_output icodec_libjpeg.jpeg_finish_output
#define jpeg_has_multiple_scans icodec_libjpeg.jpeg_has_multiple_scans
#define jpeg_read_header icodec_libjpeg.jpeg_read_header
#define jpeg_read_scanlines icodec_libjpeg.jpeg_read_scanlines
#define jpeg_resync_to_restart icodec_libjpeg.jpeg_resync_to_restart
#define jpeg_set_colorspace icodec_libjpeg.jpeg_set_colorspace
#define jpeg_set_defaults icodec_libjpeg.jpeg_set_defaults
#define jpeg_set_marker_processor icodec_libjpeg.jpeg_set_marker_processor
#define jpeg_set_quality icodec_libjpeg.jpeg_set_quality
#define jpeg_simple_progression icodec_libjpeg.jpeg_simple_progression
#define jpeg_start_compress icodec_libjpeg.jpeg_start_compress
#define jpeg_start_decompress icodec_libjpeg.jpeg_start_decompress
#define jpeg_start_output icodec_libjpeg.jpeg_start_output
#define jpeg_std_error icodec_libjpeg.jpeg_std_error
#define jpeg_write_icc_profile icodec_libjpeg.jpeg_write_icc_profile
#define jpeg_write_m_byte icodec_libjpeg.jpeg_write_m_byte
#define jpeg_write_m_header icodec_libjpeg.jpeg_write_m_header
#define jpeg_write_scanlines icodec_libjpeg.jpeg_write_scanlines
#endif

#endif
