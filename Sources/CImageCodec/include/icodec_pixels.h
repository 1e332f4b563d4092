#ifndef ICODEC_PIXELS_H
#define ICODEC_PIXELS_H

#include "icodec_common.h"

// Operations on R, G, B, A pixels of 8 bits, straight alpha. Functions with a watch accept images of any size;
// functions with a count of pixels are called for parts of them.

/// Copies an image upright according to Exif's `orientation` (1 ... 8). For 5 ... 8 the copy is `height` x `width`.
bool icodec_orient(
    const uint8_t *from, size_t from_stride, uint32_t width, uint32_t height, int orientation, uint8_t *to,
    size_t to_stride, const icodec_watch *watch, icodec_error *error);

/// Returns true if every pixel's alpha is 255.
bool icodec_is_opaque(const uint8_t *pixels, size_t count);

/// R, G, B, x pixels without their fourth channel.
void icodec_without_alpha(const uint8_t *from, uint8_t *to, size_t count);

/// R, G, B pixels with a fourth channel of 255.
void icodec_with_alpha(const uint8_t *from, uint8_t *to, size_t count);

/// Returns true if red, green and blue are equal in every pixel.
bool icodec_is_gray(const uint8_t *pixels, size_t count);

/// Puts the pixels on a background colour: alpha becomes 255.
void icodec_flatten(const uint8_t *from, uint8_t *to, size_t count, uint8_t red, uint8_t green, uint8_t blue);

/// Replaces red, green and blue by the values of a table of 256, then multiplies their difference from the luma of ITU-R BT.709 by
/// `saturation` (0 ... 100).
void icodec_adjust(const uint8_t *from, uint8_t *to, size_t count, const uint8_t *table, double saturation);

/// Adds the difference of an image from its blurred copy `soft`, times `amount` (0 ... 100).
void icodec_sharpen(const uint8_t *from, const uint8_t *soft, uint8_t *to, size_t count, double amount);

/// A Gaussian blur of the given standard deviation (pixels), as three box blurs; colours are weighted by alpha.
bool icodec_blur(
    const uint8_t *from, uint8_t *to, uint32_t width, uint32_t height, double sigma, const icodec_watch *watch,
    icodec_error *error);

/// Counts the distinct pixels, up to 256, into `palette` (4 bytes each) and writes each pixel's index. `*colors` is 0 when there are
/// more of them.
bool icodec_index_pixels(
    const uint8_t *pixels, size_t count, uint8_t *palette, uint8_t *indices, uint32_t *colors, const icodec_watch *watch,
    icodec_error *error);

#endif
