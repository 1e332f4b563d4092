#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "icodec_pixels.h"

/// One box blur of `count` pixels that lie `step` floats apart; past the ends the outermost pixel goes on.
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

bool icodec_blur(const uint8_t *from, uint8_t *to, uint32_t width, uint32_t height, double sigma) {
    size_t count = (size_t)width * height;
    float *first = malloc(count * 4 * sizeof(float)), *second = malloc(count * 4 * sizeof(float));
    if (!first || !second) {
        free(first);
        free(second);
        return false;
    }
    for (size_t index = 0; index < count * 4; index++) {
        float alpha = from[index | 3] * (1.0f / 255);
        first[index] = (index & 3) == 3 ? from[index] : from[index] * alpha;
    }
    // Three boxes of widths whose variances add up to that of the Gaussian.
    double ideal = sqrt(12 * sigma * sigma / 3 + 1);
    uint32_t lower = (uint32_t)floor(ideal);
    if (lower % 2 == 0) lower--;
    double smaller = round((12 * sigma * sigma - 3.0 * lower * lower - 12.0 * lower - 9) / (-4.0 * lower - 4));
    for (int pass = 0; pass < 3; pass++) {
        uint32_t radius = ((pass < smaller ? lower : lower + 2) - 1) / 2;
        for (uint32_t y = 0; y < height; y++)
            box(first + (size_t)y * width * 4, second + (size_t)y * width * 4, width, 4, radius);
        for (uint32_t x = 0; x < width; x++)
            box(second + (size_t)x * 4, first + (size_t)x * 4, height, (size_t)width * 4, radius);
    }
    for (size_t index = 0; index < count * 4; index++) {
        float alpha = first[index | 3];
        float value = (index & 3) == 3 ? alpha : alpha < 0.5f ? 0 : first[index] * 255 / alpha;
        value += 0.5f;
        to[index] = value <= 0 ? 0 : value >= 255 ? 255 : (uint8_t)value;
    }
    free(first);
    free(second);
    return true;
}
