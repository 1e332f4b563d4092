#ifndef ICODEC_COLOR_H
#define ICODEC_COLOR_H

#include "icodec_common.h"

typedef struct icodec_transform icodec_transform;

enum { ICODEC_PIXELS_RGBA, ICODEC_PIXELS_GRAY /* R, G, B equal, A */, ICODEC_PIXELS_CMYK /* 255 is full ink */ };

/// A transform of pixels from the profile to sRGB, in place. NULL where there is nothing to do (the profile is sRGB)
/// or nothing to be done (it is broken, or for another kind of image): `*is_usable` tells which. NULL, too, with a code in `*error`, where
/// lcms2 cannot be used: the colours would be wrong without it.
icodec_transform *icodec_transform_create(
    const uint8_t *icc, size_t count, int pixels, bool *is_usable, icodec_error *error);

/// The same from PNG's gAMA (0: none) and cHRM (all 0: none) chunks. NULL when they mean sRGB or nothing.
icodec_transform *icodec_transform_create_from_gamma(
    double gamma, const double chromaticities[8], icodec_error *error);

bool icodec_transform_apply(
    const icodec_transform *transform, uint8_t *pixels, size_t count, const icodec_watch *watch, icodec_error *error);
void icodec_transform_destroy(icodec_transform *transform);

/// Writes the profile's description (UTF-8, zero-terminated); false where there is none.
bool icodec_profile_description(const uint8_t *icc, size_t count, char *text, size_t capacity);


#endif
