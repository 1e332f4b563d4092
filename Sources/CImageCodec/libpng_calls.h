#ifndef ICODEC_LIBPNG_CALLS_H
#define ICODEC_LIBPNG_CALLS_H

#include <png.h>

#include "libraries.h"

// The functions of libpng in use, called by pointers that are set when the library is opened.

#define ICODEC_PNG_CALLS(CALL) \
    CALL(png_create_info_struct) CALL(png_create_read_struct_2) CALL(png_create_write_struct) \
    CALL(png_destroy_read_struct) CALL(png_destroy_write_struct) CALL(png_get_bit_depth) CALL(png_get_cHRM) \
    CALL(png_get_channels) CALL(png_get_color_type) CALL(png_get_eXIf_1) CALL(png_get_error_ptr) CALL(png_get_gAMA) \
    CALL(png_get_iCCP) CALL(png_get_image_height) CALL(png_get_image_width) CALL(png_get_interlace_type) \
    CALL(png_get_io_ptr) CALL(png_get_mem_ptr) CALL(png_get_rowbytes) CALL(png_get_user_chunk_ptr) \
    CALL(png_get_valid) CALL(png_read_end) CALL(png_read_info) CALL(png_read_row) CALL(png_read_update_info) \
    CALL(png_set_IHDR) CALL(png_set_PLTE) CALL(png_set_add_alpha) CALL(png_set_benign_errors) \
    CALL(png_set_chunk_cache_max) CALL(png_set_chunk_malloc_max) CALL(png_set_compression_level) \
    CALL(png_set_eXIf_1) CALL(png_set_expand) CALL(png_set_filler) CALL(png_set_gray_to_rgb) CALL(png_set_iCCP) \
    CALL(png_set_interlace_handling) CALL(png_set_keep_unknown_chunks) CALL(png_set_packing) CALL(png_set_read_fn) \
    CALL(png_set_read_user_chunk_fn) CALL(png_set_strip_16) CALL(png_set_tRNS) CALL(png_set_user_limits) \
    CALL(png_set_write_fn) CALL(png_write_end) CALL(png_write_info) CALL(png_write_row)

typedef struct {
    ICODEC_PNG_CALLS(ICODEC_MEMBER)
} icodec_png_calls;

extern icodec_png_calls icodec_libpng;

bool icodec_open_libpng(icodec_error *error);

#ifndef ICODEC_LOADS_LIBRARIES
#define png_create_info_struct icodec_libpng.png_create_info_struct
#define png_create_read_struct_2 icodec_libpng.png_create_read_struct_2
#define png_create_write_struct icodec_libpng.png_create_write_struct
#define png_destroy_read_struct icodec_libpng.png_destroy_read_struct
#define png_destroy_write_struct icodec_libpng.png_destroy_write_struct
#define png_get_bit_depth icodec_libpng.png_get_bit_depth
#define png_get_cHRM icodec_libpng.png_get_cHRM
#define png_get_channels icodec_libpng.png_get_channels
#define png_get_color_type icodec_libpng.png_get_color_type
#define png_get_eXIf_1 icodec_libpng.png_get_eXIf_1
#define png_get_error_ptr icodec_libpng.png_get_error_ptr
#define png_get_gAMA icodec_libpng.png_get_gAMA
#define png_get_iCCP icodec_libpng.png_get_iCCP
#define png_get_image_height icodec_libpng.png_get_image_height
#define png_get_image_width icodec_libpng.png_get_image_width
#define png_get_interlace_type icodec_libpng.png_get_interlace_type
#define png_get_io_ptr icodec_libpng.png_get_io_ptr
#define png_get_mem_ptr icodec_libpng.png_get_mem_ptr
#define png_get_rowbytes icodec_libpng.png_get_rowbytes
#define png_get_user_chunk_ptr icodec_libpng.png_get_user_chunk_ptr
#define png_get_valid icodec_libpng.png_get_valid
#define png_read_end icodec_libpng.png_read_end
#define png_read_info icodec_libpng.png_read_info
#define png_read_row icodec_libpng.png_read_row
#define png_read_update_info icodec_libpng.png_read_update_info
#define png_set_IHDR icodec_libpng.png_set_IHDR
#define png_set_PLTE icodec_libpng.png_set_PLTE
#define png_set_add_alpha icodec_libpng.png_set_add_alpha
#define png_set_benign_errors icodec_libpng.png_set_benign_errors
#define png_set_chunk_cache_max icodec_libpng.png_set_chunk_cache_max
#define png_set_chunk_malloc_max icodec_libpng.png_set_chunk_malloc_max
#define png_set_compression_level icodec_libpng.png_set_compression_level
#define png_set_eXIf_1 icodec_libpng.png_set_eXIf_1
#define png_set_expand icodec_libpng.png_set_expand
#define png_set_filler icodec_libpng.png_set_filler
#define png_set_gray_to_rgb icodec_libpng.png_set_gray_to_rgb
#define png_set_iCCP icodec_libpng.png_set_iCCP
#define png_set_interlace_handling icodec_libpng.png_set_interlace_handling
#define png_set_keep_unknown_chunks icodec_libpng.png_set_keep_unknown_chunks
#define png_set_packing icodec_libpng.png_set_packing
#define png_set_read_fn icodec_libpng.png_set_read_fn
#define png_set_read_user_chunk_fn icodec_libpng.png_set_read_user_chunk_fn
#define png_set_strip_16 icodec_libpng.png_set_strip_16
#define png_set_tRNS icodec_libpng.png_set_tRNS
#define png_set_user_limits icodec_libpng.png_set_user_limits
#define png_set_write_fn icodec_libpng.png_set_write_fn
#define png_write_end icodec_libpng.png_write_end
#define png_write_info icodec_libpng.png_write_info
#define png_write_row icodec_libpng.png_write_row
#endif

#endif
