#include <stdlib.h>
#include <string.h>

#include "icodec_webp.h"
#include "internal.h"
#include "libwebp_calls.h"

struct icodec_webp_animator {
    WebPAnimEncoder *encoder;
    WebPConfig config;
    WebPPicture picture;
    uint32_t width, height;
    uint64_t memory;
    uint64_t time; // at which the next frame begins, in milliseconds
};

static bool fail(const icodec_webp_animator *self, icodec_error *error) {
    int code = self->picture.error_code;
    bool is_memory = code == VP8_ENC_ERROR_OUT_OF_MEMORY || code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY;
    return icodec_fail(
        error, is_memory ? ICODEC_MEMORY : ICODEC_INTERNAL, -1, "libwebp could not encode (its error %d: %s)", code,
        WebPAnimEncoderGetError(self->encoder));
}

static bool start(
    icodec_webp_animator *self, const icodec_webp_options *options, uint32_t loops, icodec_error *error) {
    WebPAnimEncoderOptions all;
    if (!WebPAnimEncoderOptionsInitInternal(&all, WEBP_MUX_ABI_VERSION) ||
        !WebPConfigInitInternal(&self->config, WEBP_PRESET_DEFAULT, 75, WEBP_ENCODER_ABI_VERSION) ||
        !WebPPictureInitInternal(&self->picture, WEBP_ENCODER_ABI_VERSION))
        return icodec_fail(error, ICODEC_INTERNAL, -1, "libwebp of another version");
    self->config.lossless = options->lossless;
    self->config.quality = options->quality;
    self->config.method = options->method;
    self->config.low_memory = options->saves_memory;
    if (!WebPValidateConfig(&self->config))
        return icodec_fail(error, ICODEC_INTERNAL, -1, "options that libwebp refuses");
    all.anim_params.loop_count = (int)(loops > UINT16_MAX ? UINT16_MAX : loops);
    all.anim_params.bgcolor = 0;
    self->encoder = WebPAnimEncoderNewInternal((int)self->width, (int)self->height, &all, WEBP_MUX_ABI_VERSION);
    return self->encoder ? true : icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
}

icodec_webp_animator *icodec_webp_animator_create(
    uint32_t width, uint32_t height, const icodec_webp_options *options, uint32_t loops, icodec_error *error) {
    if (!icodec_open_libwebpmux(error)) return NULL;
    icodec_webp_animator *self = calloc(1, sizeof *self);
    if (!self) {
        icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        return NULL;
    }
    self->width = width;
    self->height = height;
    self->memory = options->memory;
    if (start(self, options, loops, error)) return self;
    icodec_webp_animator_destroy(self);
    return NULL;
}

bool icodec_webp_animator_add(
    icodec_webp_animator *self, const uint8_t *pixels, size_t stride, uint32_t milliseconds, const icodec_watch *watch,
    icodec_error *error) {
    if (!icodec_watch_allows(watch, error)) return false;
    if (self->time + milliseconds > INT32_MAX)
        return icodec_fail(error, ICODEC_LIMIT, -1, "the animation takes longer than a WebP can");
    WebPPicture *picture = &self->picture;
    picture->use_argb = 1;
    picture->width = (int)self->width;
    picture->height = (int)self->height;
    bool done = WebPPictureImportRGBA(picture, pixels, (int)stride) &&
        WebPAnimEncoderAdd(self->encoder, picture, (int)self->time, &self->config);
    self->time += milliseconds;
    WebPPictureFree(picture);
    return done ? true : fail(self, error);
}

bool icodec_webp_animator_finish(
    icodec_webp_animator *self, const icodec_watch *watch, uint8_t **bytes, size_t *count, icodec_error *error) {
    if (!icodec_watch_allows(watch, error)) return false;
    WebPData data = {NULL, 0};
    if (!WebPAnimEncoderAdd(self->encoder, NULL, (int)self->time, NULL) ||
        !WebPAnimEncoderAssemble(self->encoder, &data))
        return fail(self, error);
    icodec_bytes copy = {NULL, 0, 0};
    bool done = data.size <= self->memory;
    if (!done) icodec_fail(error, ICODEC_LIMIT, -1, "the file would take more memory than allowed");
    else if (!icodec_append(&copy, data.bytes, data.size))
        done = icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    WebPFree((void *)data.bytes);
    *bytes = copy.bytes;
    *count = copy.count;
    return done;
}

void icodec_webp_animator_destroy(icodec_webp_animator *self) {
    if (!self) return;
    if (self->encoder) WebPAnimEncoderDelete(self->encoder);
    WebPPictureFree(&self->picture);
    free(self);
}
