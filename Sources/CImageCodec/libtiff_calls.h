#ifndef ICODEC_LIBTIFF_CALLS_H
#define ICODEC_LIBTIFF_CALLS_H

#include <tiffio.h>

#include "libraries.h"

// The functions of libtiff in use, called by pointers that are set when the library is opened. libtiff.so.5 and .6 have them.

#define ICODEC_TIFF_CALLS(CALL) \
    CALL(TIFFClientOpen) CALL(TIFFClose) CALL(TIFFComputeStrip) CALL(TIFFGetField) \
    CALL(TIFFGetFieldDefaulted) CALL(TIFFIsCODECConfigured) CALL(TIFFIsTiled) CALL(TIFFNumberOfStrips) \
    CALL(TIFFNumberOfTiles) CALL(TIFFRGBAImageBegin) CALL(TIFFRGBAImageEnd) CALL(TIFFRGBAImageGet) \
    CALL(TIFFReadEncodedStrip) CALL(TIFFReadScanline) CALL(TIFFReadTile) CALL(TIFFScanlineSize) CALL(TIFFSetErrorHandler) \
    CALL(TIFFSetErrorHandlerExt) CALL(TIFFSetField) CALL(TIFFSetWarningHandler) CALL(TIFFSetWarningHandlerExt) \
    CALL(TIFFStripSize) CALL(TIFFTileRowSize) CALL(TIFFTileSize)

typedef struct {
    ICODEC_TIFF_CALLS(ICODEC_MEMBER)
} icodec_tiff_calls;

extern icodec_tiff_calls icodec_libtiff;

bool icodec_open_libtiff(icodec_error *error);

#ifndef ICODEC_LOADS_LIBRARIES
#define TIFFClientOpen icodec_libtiff.TIFFClientOpen
#define TIFFClose icodec_libtiff.TIFFClose
#define TIFFComputeStrip icodec_libtiff.TIFFComputeStrip
#define TIFFGetField icodec_libtiff.TIFFGetField
#define TIFFGetFieldDefaulted icodec_libtiff.TIFFGetFieldDefaulted
#define TIFFIsCODECConfigured icodec_libtiff.TIFFIsCODECConfigured
#define TIFFIsTiled icodec_libtiff.TIFFIsTiled
#define TIFFNumberOfStrips icodec_libtiff.TIFFNumberOfStrips
#define TIFFNumberOfTiles icodec_libtiff.TIFFNumberOfTiles
#define TIFFRGBAImageBegin icodec_libtiff.TIFFRGBAImageBegin
#define TIFFRGBAImageEnd icodec_libtiff.TIFFRGBAImageEnd
#define TIFFRGBAImageGet icodec_libtiff.TIFFRGBAImageGet
#define TIFFReadEncodedStrip icodec_libtiff.TIFFReadEncodedStrip
#define TIFFReadScanline icodec_libtiff.TIFFReadScanline
#define TIFFReadTile icodec_libtiff.TIFFReadTile
#define TIFFScanlineSize icodec_libtiff.TIFFScanlineSize
#define TIFFSetErrorHandler icodec_libtiff.TIFFSetErrorHandler
#define TIFFSetErrorHandlerExt icodec_libtiff.TIFFSetErrorHandlerExt
#define TIFFSetField icodec_libtiff.TIFFSetField
#define TIFFSetWarningHandler icodec_libtiff.TIFFSetWarningHandler
#define TIFFSetWarningHandlerExt icodec_libtiff.TIFFSetWarningHandlerExt
#define TIFFStripSize icodec_libtiff.TIFFStripSize
#define TIFFTileRowSize icodec_libtiff.TIFFTileRowSize
#define TIFFTileSize icodec_libtiff.TIFFTileSize
#endif

#endif
