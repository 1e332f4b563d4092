#ifndef ICODEC_LIBAVIF_CALLS_H
#define ICODEC_LIBAVIF_CALLS_H

#include <avif/avif.h>

#include "libraries.h"

// The functions of libavif in use, called by pointers that are set when the library is opened.

#define ICODEC_AVIF_CALLS(CALL) \
    CALL(avifColorPrimariesGetValues) CALL(avifCropRectConvertCleanApertureBox) CALL(avifDecoderCreate) \
    CALL(avifDecoderDestroy) CALL(avifDecoderNextImage) CALL(avifDecoderParse) CALL(avifDecoderSetIOMemory) \
    CALL(avifEncoderAddImage) CALL(avifEncoderCreate) CALL(avifEncoderDestroy) CALL(avifEncoderFinish) \
    CALL(avifImageCreate) CALL(avifImageCreateEmpty) CALL(avifImageDestroy) CALL(avifImageRGBToYUV) \
    CALL(avifImageSetMetadataExif) CALL(avifImageSetProfileICC) CALL(avifImageSetViewRect) \
    CALL(avifImageYUVToRGB) CALL(avifRGBImageSetDefaults) CALL(avifRWDataFree) CALL(avifResultToString)

typedef struct {
    ICODEC_AVIF_CALLS(ICODEC_MEMBER)
} icodec_avif_calls;

extern icodec_avif_calls icodec_libavif;

bool icodec_open_libavif(icodec_error *error);

#ifndef ICODEC_LOADS_LIBRARIES
#define avifColorPrimariesGetValues icodec_libavif.avifColorPrimariesGetValues
#define avifCropRectConvertCleanApertureBox icodec_libavif.avifCropRectConvertCleanApertureBox
#define avifDecoderCreate icodec_libavif.avifDecoderCreate
#define avifDecoderDestroy icodec_libavif.avifDecoderDestroy
#define avifDecoderNextImage icodec_libavif.avifDecoderNextImage
#define avifDecoderParse icodec_libavif.avifDecoderParse
#define avifDecoderSetIOMemory icodec_libavif.avifDecoderSetIOMemory
#define avifEncoderAddImage icodec_libavif.avifEncoderAddImage
#define avifEncoderCreate icodec_libavif.avifEncoderCreate
#define avifEncoderDestroy icodec_libavif.avifEncoderDestroy
#define avifEncoderFinish icodec_libavif.avifEncoderFinish
#define avifImageCreate icodec_libavif.avifImageCreate
#define avifImageCreateEmpty icodec_libavif.avifImageCreateEmpty
#define avifImageDestroy icodec_libavif.avifImageDestroy
#define avifImageRGBToYUV icodec_libavif.avifImageRGBToYUV
#define avifImageSetMetadataExif icodec_libavif.avifImageSetMetadataExif
#define avifImageSetProfileICC icodec_libavif.avifImageSetProfileICC
#define avifImageSetViewRect icodec_libavif.avifImageSetViewRect
#define avifImageYUVToRGB icodec_libavif.avifImageYUVToRGB
#define avifRGBImageSetDefaults icodec_libavif.avifRGBImageSetDefaults
#define avifRWDataFree icodec_libavif.avifRWDataFree
#define avifResultToString icodec_libavif.avifResultToString
#endif

#endif
