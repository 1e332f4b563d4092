#include <stdlib.h>
#include <string.h>

#include "icodec_webp.h"
#include "internal.h"
#include "libwebp_calls.h"

struct icodec_webp_animation {
    WebPAnimDecoder *decoder;
    int time; // at which the last frame ends
    uint32_t number; // of the next frame
};

icodec_webp_animation *icodec_webp_animation_open(const uint8_t *bytes, size_t count, icodec_error *error) {
    if (!icodec_open_libwebp(error)) return NULL;
    WebPAnimDecoderOptions options;
    if (!WebPAnimDecoderOptionsInitInternal(&options, WEBP_DEMUX_ABI_VERSION)) {
        icodec_fail(error, ICODEC_INTERNAL, -1, "libwebp of another version");
        return NULL;
    }
    options.color_mode = MODE_RGBA;
    options.use_threads = 0;
    WebPData data = {bytes, count};
    icodec_webp_animation *self = calloc(1, sizeof *self);
    if (self) self->decoder = WebPAnimDecoderNewInternal(&data, &options, WEBP_DEMUX_ABI_VERSION);
    if (self && self->decoder) return self;
    free(self);
    icodec_fail(error, ICODEC_TRUNCATED, -1, "the animation is not complete, or memory is short");
    return NULL;
}

bool icodec_webp_animation_next(
    icodec_webp_animation *self, const icodec_watch *watch, const uint8_t **canvas, uint32_t *milliseconds,
    icodec_error *error) {
    *canvas = NULL;
    if (!WebPAnimDecoderHasMoreFrames(self->decoder)) return true;
    if (!icodec_watch_allows(watch, error)) return false;
    uint8_t *frame = NULL;
    int end = 0;
    if (!WebPAnimDecoderGetNext(self->decoder, &frame, &end))
        return icodec_fail(error, ICODEC_CORRUPT, -1, "the data of frame %u are not valid", self->number);
    *canvas = frame;
    *milliseconds = end > self->time ? (uint32_t)(end - self->time) : 0;
    self->time = end;
    self->number++;
    return true;
}

void icodec_webp_animation_close(icodec_webp_animation *self) {
    if (!self) return;
    WebPAnimDecoderDelete(self->decoder);
    free(self);
}
