#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "icodec_pixels.h"
#include "internal.h"

/// One box blur of `count` pixels that lie `step` floats apart; the outermost pixels are repeated beyond the ends.
static void box(const float *from, float *to, uint32_t count, size_t step, uint32_t radius) {
    float scale = 1.0f / (float)(2 * radius + 1);
    for (int channel = 0; channel < 4; channel++) {
        const float *line = from + channel;
        double sum = (double)line[0] * (radius + 1);
        for (uint32_t index = 1; index <= radius; index++) sum += line[step * (index < count ? index : count - 1)];
        for (uint32_t index = 0; index < count; index++) {
            to[step * index + (size_t)channel] = (float)sum * scale;
            uint32_t enters = index + radius + 1 < count ? index + radius + 1 : count - 1;
            uint32_t leaves = index > radius ? index - radius : 0;
            sum += (double)line[step * enters] - line[step * leaves];
        }
    }
}

/// Lines of pixels, with a look at the watch once in a while.
static bool boxes(
    const float *from, float *to, uint32_t lines, size_t line_step, uint32_t count, size_t step, uint32_t radius,
    const icodec_watch *watch, icodec_error *error) {
    // A sum starts with as many pixels as the radius, however short the line.
    size_t cost = (size_t)count + radius, done = 0;
    for (uint32_t line = 0; line < lines; line++) {
        box(from + line_step * line, to + line_step * line, count, step, radius);
        done += cost;
        if (done < icodec_watch_step / 4) continue;
        done = 0;
        if (!icodec_watch_allows(watch, error)) return false;
    }
    return true;
}

/// Bytes to floats with colours multiplied by alpha.
static void widen(const uint8_t *from, float *to, size_t count) {
    for (size_t index = 0; index < count * 4; index++) {
        float alpha = from[index | 3] * (1.0f / 255);
        to[index] = (index & 3) == 3 ? from[index] : from[index] * alpha;
    }
}

/// The way back.
static void narrow(const float *from, uint8_t *to, size_t count) {
    for (size_t index = 0; index < count * 4; index++) {
        float alpha = from[index | 3];
        float value = (index & 3) == 3 ? alpha : alpha < 0.5f ? 0 : from[index] * 255 / alpha;
        value += 0.5f;
        to[index] = value <= 0 ? 0 : value >= 255 ? 255 : (uint8_t)value;
    }
}

static bool blur(
    const uint8_t *from, uint8_t *to, uint32_t width, uint32_t height, double sigma, float *first, float *second,
    const icodec_watch *watch, icodec_error *error) {
    size_t count = (size_t)width * height;
    for (size_t done = 0; done < count; done += icodec_watch_step) {
        size_t part = count - done < icodec_watch_step ? count - done : icodec_watch_step;
        if (!icodec_watch_allows(watch, error)) return false;
        widen(from + done * 4, first + done * 4, part);
    }
    // Three boxes, with widths whose variances add up to that of the Gaussian.
    double ideal = sqrt(12 * sigma * sigma / 3 + 1);
    uint32_t lower = (uint32_t)floor(ideal);
    if (lower % 2 == 0) lower--;
    double smaller = round((12 * sigma * sigma - 3.0 * lower * lower - 12.0 * lower - 9) / (-4.0 * lower - 4));
    for (int pass = 0; pass < 3; pass++) {
        uint32_t radius = ((pass < smaller ? lower : lower + 2) - 1) / 2;
        size_t row = (size_t)width * 4;
        if (!boxes(first, second, height, row, width, 4, radius, watch, error) ||
            !boxes(second, first, width, 4, height, row, radius, watch, error))
            return false;
    }
    for (size_t done = 0; done < count; done += icodec_watch_step) {
        size_t part = count - done < icodec_watch_step ? count - done : icodec_watch_step;
        if (!icodec_watch_allows(watch, error)) return false;
        narrow(first + done * 4, to + done * 4, part);
    }
    return true;
}

bool icodec_blur(
    const uint8_t *from, uint8_t *to, uint32_t width, uint32_t height, double sigma, const icodec_watch *watch,
    icodec_error *error) {
    size_t size = (size_t)width * height * 4 * sizeof(float);
    float *first = malloc(size), *second = malloc(size);
    bool done = first && second ? blur(from, to, width, height, sigma, first, second, watch, error)
                                : icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    free(first);
    free(second);
    return done;
}
