#ifndef CIMAGECODEC_H
#define CIMAGECODEC_H

// The functions of libjpeg-turbo, libpng, libwebp, giflib, libavif, libheif, libjxl, libtiff and lcms2 that ImageCodec uses: variable arguments
// and longjmp are hidden behind these functions. A function that can fail returns false (or NULL) and fills in the error; none prints,
// none jumps over its caller. A decoder that has failed may only be closed.

#include "icodec_avif.h"
#include "icodec_bmp.h"
#include "icodec_color.h"
#include "icodec_common.h"
#include "icodec_gif.h"
#include "icodec_heif.h"
#include "icodec_jpeg.h"
#include "icodec_jxl.h"
#include "icodec_pixels.h"
#include "icodec_png.h"
#include "icodec_resize.h"
#include "icodec_tiff.h"
#include "icodec_webp.h"

#endif
