#include <string.h>

#include "gif_quantize.h"

void icodec_gif_histogram_clear(gif_histogram *histogram) {
    histogram->count = 0;
    histogram->pixels = 0;
    histogram->shift = 0;
    memset(histogram->slots, 0, sizeof histogram->slots);
}

/// The cube of a colour, as a number.
static uint32_t cube(const gif_histogram *histogram, const uint8_t *color) {
    uint32_t shift = histogram->shift;
    return (uint32_t)(color[0] >> shift) | (uint32_t)(color[1] >> shift) << 8 | (uint32_t)(color[2] >> shift) << 16;
}

/// The slot of a colour's cube, or the free one in which it would stand.
static uint32_t slot(const gif_histogram *histogram, const uint8_t *color) {
    uint32_t wanted = cube(histogram, color), slot = wanted * 2654435761u >> 16;
    while (histogram->slots[slot] && cube(histogram, histogram->points[histogram->slots[slot] - 1].color) != wanted)
        slot = (slot + 1) % (2 * gif_points);
    return slot;
}

/// Makes points of twice the side.
static void coarsen(gif_histogram *histogram) {
    uint32_t before = histogram->count;
    histogram->count = 0;
    histogram->shift++;
    memset(histogram->slots, 0, sizeof histogram->slots);
    for (uint32_t number = 0; number < before; number++) {
        gif_point point = histogram->points[number];
        uint32_t place = slot(histogram, point.color);
        if (!histogram->slots[place]) {
            histogram->points[histogram->count++] = point;
            histogram->slots[place] = (uint16_t)histogram->count;
            continue;
        }
        gif_point *other = &histogram->points[histogram->slots[place] - 1];
        other->count += point.count;
        for (int axis = 0; axis < 3; axis++) other->sum[axis] += point.sum[axis];
    }
}

void icodec_gif_histogram_add(gif_histogram *histogram, const uint8_t *color) {
    uint32_t place = slot(histogram, color);
    // Cubes of 8 values a side are no more than there are points.
    while (!histogram->slots[place] && histogram->count == gif_points) {
        coarsen(histogram);
        place = slot(histogram, color);
    }
    if (!histogram->slots[place]) {
        histogram->points[histogram->count++] = (gif_point){0, {0, 0, 0}, {color[0], color[1], color[2]}};
        histogram->slots[place] = (uint16_t)histogram->count;
    }
    gif_point *point = &histogram->points[histogram->slots[place] - 1];
    point->count++;
    histogram->pixels++;
    for (int axis = 0; axis < 3; axis++) point->sum[axis] += color[axis];
}

void icodec_gif_histogram_settle(gif_histogram *histogram) {
    for (gif_point *point = histogram->points; point < histogram->points + histogram->count; point++)
        for (int axis = 0; axis < 3; axis++)
            point->color[axis] = (uint8_t)((point->sum[axis] + point->count / 2) / point->count);
}
