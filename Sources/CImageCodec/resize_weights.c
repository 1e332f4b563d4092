#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "resize_internal.h"

static double lanczos3(double x) {
    x = fabs(x);
    if (x < 1e-12) return 1;
    if (x >= 3) return 0;
    double angle = M_PI * x;
    return 3 * sin(angle) * sin(angle / 3) / (angle * angle);
}

/// Sine and cosine of pi x / 3.
typedef struct {
    double sine, cosine;
} angle;

static angle angle_of(double x) { return (angle){sin(M_PI / 3 * x), cos(M_PI / 3 * x)}; }

/// The sum of two angles: the samples of an output are equally far apart, so that two sines are enough for all of them.
static angle turned(angle from, angle by) {
    return (angle){
        from.sine * by.cosine + from.cosine * by.sine,
        from.cosine * by.cosine - from.sine * by.sine,
    };
}

/// lanczos3(x), of which `sine` is sin(pi x / 3): sin(3 a) is sin(a) (3 - 4 sin(a)^2).
static double lanczos3_by(double sine, double x) {
    // Near zero the quotient would lose digits.
    if (fabs(x) < 1.0 / 64 || fabs(x) >= 3) return lanczos3(x);
    double square = sine * sine;
    return 3 / (M_PI * M_PI) * square * (3 - 4 * square) / (x * x);
}

bool icodec_weights_create(const icodec_axis *axis, icodec_weights *weights) {
    double ratio = axis->extent / axis->scaled;
    double widening = ratio > 1 ? ratio : 1; // the filter spans three samples of the coarser grid to each side
    double support = 3 * widening;
    weights->count = axis->count;
    weights->stride = (uint32_t)ceil(support) * 2 + 4;
    weights->spans = calloc(axis->count, sizeof *weights->spans);
    weights->weights = calloc((size_t)axis->count * weights->stride, sizeof *weights->weights);
    double *exact = calloc(weights->stride, sizeof *exact);
    if (!weights->spans || !weights->weights || !exact) {
        free(exact);
        icodec_weights_destroy(weights);
        return false;
    }
    const angle step = angle_of(1 / widening);
    for (uint32_t index = 0; index < axis->count; index++) {
        double center = (axis->first + index + 0.5) * ratio;
        double from = floor(center - support), to = ceil(center + support);
        // The outermost samples may lie outside the filter; and an axis that keeps its size is a copy.
        if (fabs(from + 0.5 - center) >= support) from++;
        if (fabs(to - 0.5 - center) >= support) to--;
        if (ratio == 1) {
            from = axis->first + index;
            to = from + 1;
        }
        if (from < 0) from = 0;
        if (to > axis->source) to = axis->source;
        if (from >= axis->source) from = axis->source - 1;
        if (to <= from) to = from + 1;
        uint32_t start = (uint32_t)from, count = (uint32_t)(to - from);
        if (count > weights->stride - 2) count = weights->stride - 2;
        if (ratio == 1) {
            weights->spans[index] = (icodec_span){start, 1};
            weights->weights[(size_t)index * weights->stride] = 1;
            continue;
        }
        // With a correction, the neighbours of the outermost samples contribute too, except past the ends.
        uint32_t before = axis->correction != 0 && start > 0, after = axis->correction != 0 && to < axis->source;
        memset(exact, 0, weights->stride * sizeof *exact);
        double sum = 0;
        angle position = angle_of((start + 0.5 - center) / widening);
        for (uint32_t tap = 0; tap < count; tap++) {
            double weight = lanczos3_by(position.sine, (start + tap + 0.5 - center) / widening);
            double side = -axis->correction * weight;
            uint32_t here = tap + before, last = count - 1 + before + after;
            exact[here] += weight - 2 * side;
            exact[here > 0 ? here - 1 : 0] += side;
            exact[here < last ? here + 1 : last] += side;
            sum += weight;
            position = turned(position, step);
        }
        if (sum == 0) {
            exact[before] = 1;
            sum = 1;
        }
        start -= before;
        count += before + after;
        float *row = weights->weights + (size_t)index * weights->stride;
        for (uint32_t tap = 0; tap < count; tap++) row[tap] = (float)(exact[tap] / sum);
        weights->spans[index] = (icodec_span){start, count};
    }
    free(exact);
    return true;
}

void icodec_weights_destroy(icodec_weights *weights) {
    free(weights->spans);
    free(weights->weights);
    *weights = (icodec_weights){0};
}
