#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "resize_internal.h"

// Rows come from the top, in pairs where possible. Each is filtered along itself at once, to the output's width, and added with its weight to the
// output rows that it has a part in: about six when shrinking. So only those rows are held, whatever the image's height.

struct icodec_resizer {
    const icodec_kernels *kernels;
    icodec_axis horizontal, vertical;
    int flags;
    icodec_weights columns, rows;
    float *column_weights; // each four times, for the four channels
    float *wide[2]; // the source rows as floats
    float *narrow[2]; // the same, filtered
    float *sums; // `ring` output rows
    uint32_t ring;
    uint8_t *pixels;
    size_t stride;
    uint32_t seen; // source rows
    uint32_t written; // output rows
};

/// Output rows that two source rows may have a part in.
static uint32_t overlap(const icodec_weights *rows) {
    uint32_t most = 1;
    for (uint32_t first = 0, index = 0; index < rows->count; index++) {
        while (rows->spans[first].start + rows->spans[first].count < rows->spans[index].start) first++;
        if (index - first + 1 > most) most = index - first + 1;
    }
    return most;
}

static uint32_t taps(const icodec_axis *axis) {
    double ratio = axis->extent / axis->scaled;
    return (uint32_t)ceil(3 * (ratio > 1 ? ratio : 1)) * 2 + 4;
}

uint64_t icodec_resizer_memory(const icodec_axis *horizontal, const icodec_axis *vertical) {
    uint64_t column = taps(horizontal), row = taps(vertical);
    double growth = vertical->scaled / vertical->extent;
    uint64_t ring = (uint64_t)ceil(7 * (growth > 1 ? growth : 1)) + 4;
    if (ring > vertical->count) ring = vertical->count;
    return horizontal->count * (column * 20 + 8) + vertical->count * (row * 4 + 8) + (horizontal->source + 2ull) * 32 +
        (ring + 2) * horizontal->count * 16;
}

icodec_resizer *icodec_resizer_create(
    const icodec_axis *horizontal, const icodec_axis *vertical, int flags, uint8_t *pixels, size_t stride) {
    icodec_resizer *resizer = calloc(1, sizeof *resizer);
    if (!resizer) return NULL;
    resizer->kernels = icodec_kernels_best();
    resizer->horizontal = *horizontal;
    resizer->vertical = *vertical;
    resizer->flags = flags;
    resizer->pixels = pixels;
    resizer->stride = stride;
    if (!icodec_weights_create(horizontal, &resizer->columns) || !icodec_weights_create(vertical, &resizer->rows)) {
        icodec_resizer_destroy(resizer);
        return NULL;
    }
    resizer->ring = overlap(&resizer->rows);
    size_t weights = (size_t)resizer->columns.count * resizer->columns.stride;
    resizer->column_weights = malloc(weights * 4 * sizeof(float));
    for (int index = 0; index < 2; index++) {
        // One pixel more than the row: pairs of taps may reach past its end.
        resizer->wide[index] = calloc(((size_t)horizontal->source + 2) * 4, sizeof(float));
        resizer->narrow[index] = calloc((size_t)horizontal->count * 4, sizeof(float));
    }
    resizer->sums = calloc((size_t)resizer->ring * horizontal->count * 4, sizeof(float));
    if (!resizer->column_weights || !resizer->wide[0] || !resizer->wide[1] || !resizer->narrow[0] ||
        !resizer->narrow[1] || !resizer->sums) {
        icodec_resizer_destroy(resizer);
        return NULL;
    }
    for (size_t index = 0; index < weights * 4; index++)
        resizer->column_weights[index] = resizer->columns.weights[index / 4];
    free(resizer->columns.weights);
    resizer->columns.weights = NULL;
    return resizer;
}

void icodec_resizer_restart(icodec_resizer *resizer, int flags, uint8_t *pixels) {
    memset(resizer->sums, 0, (size_t)resizer->ring * resizer->horizontal.count * 4 * sizeof(float));
    resizer->flags = flags;
    resizer->pixels = pixels;
    resizer->seen = 0;
    resizer->written = 0;
}

// Light. sRGB values of 0 ... 255 to light of 0 ... 255 and back (IEC 61966-2-1).

static float light_of_value[256];
enum { light_steps = 4096 };
static float value_of_light[light_steps + 2]; // by the square root of light, where the curve is nearly straight
static pthread_once_t light_once = PTHREAD_ONCE_INIT;

static void make_light(void) {
    for (int index = 0; index < 256; index++) {
        double value = index / 255.0;
        double light = value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
        light_of_value[index] = (float)(light * 255);
    }
    for (int index = 0; index <= light_steps + 1; index++) {
        double light = (double)index / light_steps * index / light_steps;
        double value = light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055;
        value_of_light[index] = (float)(value * 255);
    }
}

static float value_of(float light) {
    if (!(light > 0)) return 0;
    if (light >= 255) return 255;
    float position = sqrtf(light * (1.0f / 255)) * light_steps;
    int index = (int)position;
    float part = position - (float)index;
    return value_of_light[index] + (value_of_light[index + 1] - value_of_light[index]) * part;
}

static void widen(icodec_resizer *resizer, const uint8_t *row, float *to) {
    uint32_t count = resizer->horizontal.source;
    if (!(resizer->flags & ICODEC_RESIZE_LINEAR)) {
        (resizer->flags & ICODEC_RESIZE_ALPHA ? resizer->kernels->premultiply : resizer->kernels->widen)(
            row, to, count);
        return;
    }
    pthread_once(&light_once, make_light);
    for (uint32_t index = 0; index < count; index++, row += 4, to += 4) {
        float alpha = resizer->flags & ICODEC_RESIZE_ALPHA ? row[3] * (1.0f / 255) : 1;
        for (int channel = 0; channel < 3; channel++) to[channel] = light_of_value[row[channel]] * alpha;
        to[3] = row[3];
    }
}

static void write_row(icodec_resizer *resizer, float *sum) {
    uint32_t count = resizer->horizontal.count;
    if (resizer->flags & ICODEC_RESIZE_ALPHA)
        for (uint32_t index = 0; index < count; index++) {
            float *pixel = sum + (size_t)index * 4;
            // Alpha that rounds to 0 has no colour.
            float scale = pixel[3] < 0.5f ? 0 : 255 / pixel[3];
            for (int channel = 0; channel < 3; channel++) pixel[channel] *= scale;
        }
    if (resizer->flags & ICODEC_RESIZE_LINEAR)
        for (uint32_t index = 0; index < count; index++)
            for (int channel = 0; channel < 3; channel++)
                sum[(size_t)index * 4 + channel] = value_of(sum[(size_t)index * 4 + channel]);
    resizer->kernels->narrow(sum, resizer->pixels + resizer->stride * resizer->written, count);
}

/// Returns true if the work may continue; checked periodically. One row may become a hundred million pixels.
static bool goes_on(size_t *done, size_t floats, const icodec_watch *watch, icodec_error *error) {
    *done += floats;
    if (*done < icodec_watch_step) return true;
    *done = 0;
    return icodec_watch_allows(watch, error);
}

/// Widens and filters one row, or two.
static void filter_rows(icodec_resizer *resizer, const uint8_t *row, const uint8_t *next) {
    const icodec_weights *columns = &resizer->columns;
    widen(resizer, row, resizer->wide[0]);
    if (!next) {
        resizer->kernels->filter(
            resizer->wide[0], columns->spans, resizer->column_weights, columns->stride, resizer->narrow[0], columns->count);
        return;
    }
    widen(resizer, next, resizer->wide[1]);
    resizer->kernels->filter_pair(
        resizer->wide[0], resizer->wide[1], columns->spans, resizer->column_weights, columns->stride,
        resizer->narrow[0], resizer->narrow[1], columns->count);
}

/// Adds the filtered rows from `here` up to `end`, one or two, to an output row, as far as they are in its span.
static void accumulate_rows(icodec_resizer *resizer, uint32_t index, uint32_t here, uint32_t end) {
    const icodec_weights *rows = &resizer->rows;
    uint32_t floats = resizer->horizontal.count * 4;
    uint32_t start = rows->spans[index].start, stop = start + rows->spans[index].count;
    uint32_t first = here > start ? here : start, last = end < stop ? end : stop;
    if (first >= last) return;
    float *sum = resizer->sums + (size_t)(index % resizer->ring) * floats;
    const float *weights = rows->weights + (size_t)index * rows->stride + (first - start);
    if (last - first == 2)
        resizer->kernels->accumulate_pair(
            sum, resizer->narrow[0], weights[0], resizer->narrow[1], weights[1], floats);
    else
        resizer->kernels->accumulate(sum, resizer->narrow[first - here], weights[0], floats);
}

bool icodec_resizer_push(
    icodec_resizer *resizer, const uint8_t *row, const uint8_t *next, const icodec_watch *watch, icodec_error *error) {
    uint32_t here = resizer->seen, end = here + (next ? 2 : 1);
    const icodec_weights *rows = &resizer->rows;
    resizer->seen = end;
    if (resizer->written >= rows->count || end <= rows->spans[resizer->written].start) return true;
    uint32_t floats = resizer->horizontal.count * 4;
    size_t done = 0;
    filter_rows(resizer, row, next);
    for (uint32_t index = resizer->written; index < rows->count && rows->spans[index].start < end; index++) {
        accumulate_rows(resizer, index, here, end);
        if (!goes_on(&done, floats, watch, error)) return false;
    }
    while (resizer->written < rows->count) {
        icodec_span span = rows->spans[resizer->written];
        if (span.start + span.count > resizer->seen) break;
        float *sum = resizer->sums + (size_t)(resizer->written % resizer->ring) * floats;
        write_row(resizer, sum);
        memset(sum, 0, floats * sizeof *sum);
        resizer->written++;
        if (!goes_on(&done, floats, watch, error)) return false;
    }
    return true;
}

void icodec_resizer_destroy(icodec_resizer *resizer) {
    if (!resizer) return;
    icodec_weights_destroy(&resizer->columns);
    icodec_weights_destroy(&resizer->rows);
    free(resizer->column_weights);
    for (int index = 0; index < 2; index++) {
        free(resizer->wide[index]);
        free(resizer->narrow[index]);
    }
    free(resizer->sums);
    free(resizer);
}
