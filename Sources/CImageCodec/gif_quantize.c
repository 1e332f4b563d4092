#include "gif_quantize.h"

#include <string.h>

// Boxes of colours are cut where that takes most from the squared distances (Wu, "Efficient statistical computations for optimal color
// quantization", 1991), the one with most to gain first; then each colour becomes the mean of the pixels that are nearest to it (k-means).
// Every machine computes the same: sums are exact, and products are not fused with them.
#pragma STDC FP_CONTRACT OFF

enum { refinements = 3 };

typedef struct {
    uint32_t first, count; // points
    int axis; // of the best cut
    uint32_t cut; // values up to this one are on one side
    double gain; // of the cut; 0: there is none
} box;

typedef struct {
    double count, sum[3];
} moments;

static void add(moments *to, const moments *other) {
    to->count += other->count;
    for (int axis = 0; axis < 3; axis++) to->sum[axis] += other->sum[axis];
}

/// A measure of how near pixels are to their mean: its sum over all boxes is greatest when their squared distances are least.
static double nearness(const moments *of) {
    double red = of->sum[0] * of->sum[0], green = of->sum[1] * of->sum[1], blue = of->sum[2] * of->sum[2];
    return ((double)gif_red_weight * red + (double)gif_green_weight * green + (double)gif_blue_weight * blue) / of->count;
}

/// Finds the best cut of a box on one axis.
static void try_axis(box *box, const gif_point *points, int axis) {
    moments bins[256];
    memset(bins, 0, sizeof bins);
    moments all = {0, {0, 0, 0}};
    uint32_t least = 255, greatest = 0;
    for (const gif_point *point = points + box->first; point < points + box->first + box->count; point++) {
        uint32_t bin = point->color[axis];
        if (bin < least) least = bin;
        if (bin > greatest) greatest = bin;
        moments one = {(double)point->count, {(double)point->sum[0], (double)point->sum[1], (double)point->sum[2]}};
        add(&bins[bin], &one);
        add(&all, &one);
    }
    double whole = nearness(&all);
    moments left = {0, {0, 0, 0}};
    for (uint32_t bin = least; bin < greatest; bin++) {
        if (bins[bin].count <= 0) continue;
        add(&left, &bins[bin]);
        moments right = {all.count - left.count, {0, 0, 0}};
        for (int other = 0; other < 3; other++) right.sum[other] = all.sum[other] - left.sum[other];
        double gain = nearness(&left) + nearness(&right) - whole;
        if (gain <= box->gain) continue;
        box->gain = gain;
        box->axis = axis;
        box->cut = bin;
    }
}

static void find_cut(box *box, const gif_point *points) {
    box->gain = 0;
    for (int axis = 0; axis < 3; axis++) try_axis(box, points, axis);
}

/// Cuts a box in two: it keeps the lower side, and the other one is returned.
static box cut(box *from, gif_point *points) {
    gif_point *low = points + from->first, *high = low + from->count;
    while (low < high) {
        if (low->color[from->axis] <= from->cut) {
            low++;
            continue;
        }
        gif_point moved = *--high;
        *high = *low;
        *low = moved;
    }
    box rest = {.first = (uint32_t)(low - points), .count = from->first + from->count - (uint32_t)(low - points)};
    from->count -= rest.count;
    return rest;
}

static void mean_of(const uint64_t *sum, uint64_t count, uint8_t *color) {
    for (int axis = 0; axis < 3; axis++) color[axis] = (uint8_t)((sum[axis] + count / 2) / count);
}

static uint32_t cut_boxes(
    gif_histogram *histogram, uint32_t colors, box *boxes, const icodec_watch *watch, icodec_error *error) {
    uint32_t count = 1;
    boxes[0] = (box){.first = 0, .count = histogram->count};
    find_cut(&boxes[0], histogram->points);
    while (count < colors) {
        uint32_t best = 0;
        for (uint32_t number = 1; number < count; number++)
            if (boxes[number].gain > boxes[best].gain) best = number;
        if (boxes[best].gain <= 0) break;
        if (count % 8 == 0 && !icodec_watch_allows(watch, error)) return 0;
        boxes[count] = cut(&boxes[best], histogram->points);
        find_cut(&boxes[best], histogram->points);
        find_cut(&boxes[count], histogram->points);
        count++;
    }
    return count;
}

static bool refine(
    const gif_histogram *histogram, gif_palette *palette, const icodec_watch *watch, icodec_error *error) {
    gif_point means[256];
    memset(means, 0, sizeof means);
    for (uint32_t number = 0; number < histogram->count; number++) {
        if (number % 4096 == 0 && !icodec_watch_allows(watch, error)) return false;
        const gif_point *point = &histogram->points[number];
        const uint8_t *color = point->color;
        gif_point *mean = &means[icodec_gif_palette_nearest(palette, color[0], color[1], color[2])];
        mean->count += point->count;
        for (int axis = 0; axis < 3; axis++) mean->sum[axis] += point->sum[axis];
    }
    for (uint32_t index = 0; index < palette->count; index++)
        if (means[index].count) mean_of(means[index].sum, means[index].count, palette->colors[index]);
    icodec_gif_palette_shorten(palette, palette->count);
    return true;
}

bool icodec_gif_error(
    gif_palette *palette, const gif_histogram *histogram, const icodec_watch *watch, double *mean, icodec_error *error) {
    double sum = 0, count = 0;
    for (uint32_t number = 0; number < histogram->count; number++) {
        if (number % 4096 == 0 && !icodec_watch_allows(watch, error)) return false;
        const gif_point *point = &histogram->points[number];
        const uint8_t *color = point->color;
        const uint8_t *near = palette->colors[icodec_gif_palette_nearest(palette, color[0], color[1], color[2])];
        uint32_t distance = gif_distance(color[0] - near[0], color[1] - near[1], color[2] - near[2]);
        sum += (double)distance * (double)point->count;
        count += (double)point->count;
    }
    *mean = count > 0 ? sum / count : 0;
    return true;
}

bool icodec_gif_is_exact(const gif_histogram *histogram, uint32_t colors) {
    return histogram->count <= colors && !histogram->shift;
}

bool icodec_gif_quantize(
    gif_histogram *histogram, uint32_t colors, gif_palette *palette, const icodec_watch *watch, icodec_error *error) {
    box boxes[256];
    bool is_exact = icodec_gif_is_exact(histogram, colors);
    uint32_t count = is_exact ? histogram->count : cut_boxes(histogram, colors, boxes, watch, error);
    if (histogram->count && !count) return false;
    for (uint32_t number = 0; number < count; number++) {
        uint64_t sum[3] = {0, 0, 0}, pixels = 0;
        uint32_t first = is_exact ? number : boxes[number].first, points = is_exact ? 1 : boxes[number].count;
        for (const gif_point *point = histogram->points + first; points--; point++) {
            pixels += point->count;
            for (int axis = 0; axis < 3; axis++) sum[axis] += point->sum[axis];
        }
        uint8_t color[3];
        mean_of(sum, pixels, color);
        // Means may round to the same colour.
        if (icodec_gif_palette_find(palette, color) < 0) icodec_gif_palette_add(palette, color);
    }
    for (int round = 0; !is_exact && round < refinements; round++)
        if (!refine(histogram, palette, watch, error)) return false;
    return icodec_gif_error(palette, histogram, watch, &palette->error, error);
}
