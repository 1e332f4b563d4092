#include <stdlib.h>
#include <string.h>

#include "icodec_webp.h"
#include "internal.h"
#include "libwebp_calls.h"

static void take_chunk(
    const WebPDemuxer *demuxer, const char *name, const uint8_t **bytes, size_t *count, size_t limit) {
    WebPChunkIterator iterator;
    if (WebPDemuxGetChunk(demuxer, name, 1, &iterator) && iterator.chunk.size <= limit) {
        *bytes = iterator.chunk.bytes;
        *count = iterator.chunk.size;
    }
    WebPDemuxReleaseChunkIterator(&iterator);
}

static uint64_t time_of_frames(const WebPDemuxer *demuxer) {
    uint64_t milliseconds = 0;
    WebPIterator iterator;
    if (!WebPDemuxGetFrame(demuxer, 1, &iterator)) return 0;
    do milliseconds += (uint64_t)iterator.duration;
    while (WebPDemuxNextFrame(&iterator));
    WebPDemuxReleaseIterator(&iterator);
    return milliseconds;
}

/// Counts the chunks from a position on, including those of frames, because libwebp keeps a structure for each.
static bool count_chunks(const uint8_t *bytes, size_t count, bool are_frames, icodec_work *work, icodec_error *error) {
    for (size_t at = 0; count - at >= 8;) {
        const uint8_t *chunk = bytes + at;
        size_t size = chunk[4] | (size_t)chunk[5] << 8 | (size_t)chunk[6] << 16 | (size_t)chunk[7] << 24;
        at += 8;
        if (!icodec_work_on(work, 8, error)) return false;
        // One byte more where the size is odd; the last one may be cut.
        size_t there = size < count - at ? size : count - at;
        if (!are_frames && memcmp(chunk, "ANMF", 4) == 0 && there >= 16 &&
            !count_chunks(bytes + at + 16, there - 16, true, work, error))
            return false;
        at += there;
        if (size % 2 && at < count) at++;
    }
    return true;
}

bool icodec_webp_describe(
    const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_description *description,
    icodec_webp_frame *frame, icodec_error *error) {
    if (!icodec_open_libwebp(error)) return false;
    memset(description, 0, sizeof *description);
    memset(frame, 0, sizeof *frame);
    icodec_work work = {0, 0};
    if (count > 12 && !count_chunks(bytes + 12, count - 12, false, &work, error)) return false;
    WebPData data = {bytes, count};
    WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
    WebPDemuxer *demuxer = WebPDemuxInternal(&data, 1, &state, WEBP_DEMUX_ABI_VERSION);
    if (!demuxer)
        return icodec_fail(
            error, state == WEBP_DEMUX_PARSING_HEADER ? ICODEC_TRUNCATED : ICODEC_CORRUPT, -1,
            state == WEBP_DEMUX_PARSING_HEADER ? "the file ends within its header" : "not a valid WebP container");
    description->width = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH);
    description->height = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT);
    description->frames = WebPDemuxGetI(demuxer, WEBP_FF_FRAME_COUNT);
    description->loops = WebPDemuxGetI(demuxer, WEBP_FF_LOOP_COUNT);
    description->bit_depth = 8;
    bool is_animated = WebPDemuxGetI(demuxer, WEBP_FF_FORMAT_FLAGS) & ANIMATION_FLAG;
    take_chunk(demuxer, "ICCP", &description->icc, &description->icc_size, limits->ancillary);
    take_chunk(demuxer, "EXIF", &description->exif, &description->exif_size, limits->ancillary);
    // Some writers put a JPEG's name before the block.
    if (description->exif_size > 6 && memcmp(description->exif, "Exif\0\0", 6) == 0) {
        description->exif += 6;
        description->exif_size -= 6;
    }
    bool done = icodec_check_size(limits, description->width, description->height, error);
    // Each step looks for its frame from the first one on.
    if (done && description->frames <= limits->frames) description->milliseconds = time_of_frames(demuxer);
    WebPIterator iterator;
    if (done && !WebPDemuxGetFrame(demuxer, 1, &iterator)) {
        done = icodec_fail(
            error, state == WEBP_DEMUX_DONE ? ICODEC_CORRUPT : ICODEC_TRUNCATED, -1, "no image in the container");
    } else if (done) {
        frame->bytes = iterator.fragment.bytes;
        frame->count = iterator.fragment.size;
        frame->x = (uint32_t)iterator.x_offset;
        frame->y = (uint32_t)iterator.y_offset;
        frame->width = (uint32_t)iterator.width;
        frame->height = (uint32_t)iterator.height;
        frame->is_complete = iterator.complete;
        WebPDemuxReleaseIterator(&iterator);
        WebPBitstreamFeatures features;
        VP8StatusCode status = WebPGetFeaturesInternal(frame->bytes, frame->count, &features, WEBP_DECODER_ABI_VERSION);
        if (status == VP8_STATUS_NOT_ENOUGH_DATA)
            done = icodec_fail(error, ICODEC_TRUNCATED, -1, "the file ends within the image's header");
        else if (status != VP8_STATUS_OK) done = icodec_fail(error, ICODEC_CORRUPT, -1, "not a valid image header");
        else {
            bool is_partial = frame->x || frame->y || frame->width != description->width ||
                frame->height != description->height;
            description->fills_canvas = !is_partial;
            description->has_alpha = features.has_alpha || (is_animated && is_partial);
            description->is_lossless = features.format == 2;
            description->components = features.has_alpha ? 4 : 3;
        }
    }
    WebPDemuxDelete(demuxer);
    return done;
}

static bool fail_with(icodec_error *error, VP8StatusCode status, size_t offset) {
    switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA: return icodec_fail(error, ICODEC_TRUNCATED, -1, "the image data end early");
    case VP8_STATUS_UNSUPPORTED_FEATURE: return icodec_fail(error, ICODEC_UNSUPPORTED, -1, "a feature unknown to libwebp");
    default: return icodec_fail(error, ICODEC_CORRUPT, (int64_t)offset, "the image data are not valid");
    }
}

bool icodec_webp_decode(
    const icodec_webp_frame *frame, const icodec_limits *limits, uint8_t *pixels, uint32_t width,
    uint32_t height, size_t stride, icodec_error *error) {
    if (!icodec_open_libwebp(error)) return false;
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfigInternal(&config, WEBP_DECODER_ABI_VERSION)) return icodec_fail(error, ICODEC_INTERNAL, -1, "libwebp of another version");
    config.options.use_scaling = width != frame->width || height != frame->height;
    config.options.scaled_width = (int)width;
    config.options.scaled_height = (int)height;
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = pixels;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = stride * height;
    WebPIDecoder *decoder = WebPIDecode(NULL, 0, &config);
    if (!decoder) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    // In parts, so that the time can be looked at between them: of about as many pixels each. (A picture of one colour is a few bytes,
    // and decoded at once.)
    size_t parts = (size_t)frame->width * frame->height / icodec_watch_step + 1;
    size_t step = frame->count / parts + 1;
    if (step < 256) step = 256;
    if (step > 32768) step = 32768;
    size_t given = 0;
    VP8StatusCode status = VP8_STATUS_SUSPENDED;
    while (given < frame->count && status == VP8_STATUS_SUSPENDED) {
        given = frame->count - given > step ? given + step : frame->count;
        status = WebPIUpdate(decoder, frame->bytes, given);
        if (!icodec_watch_allows(&limits->watch, error)) {
            WebPIDelete(decoder);
            return false;
        }
    }
    WebPIDelete(decoder);
    return status == VP8_STATUS_OK ? true : fail_with(error, status, given);
}

/// The context of the encoder's callbacks.
typedef struct {
    icodec_bytes bytes;
    uint64_t memory;
    const icodec_watch *watch;
    icodec_error *error;
    bool has_ended; // with the error
} encoder;

static int on_write(const uint8_t *bytes, size_t count, const WebPPicture *picture) {
    encoder *self = picture->custom_ptr;
    if (self->bytes.count + count > self->memory)
        self->has_ended =
            !icodec_fail(self->error, ICODEC_LIMIT, -1, "the file would take more memory than allowed");
    else if (!icodec_append(&self->bytes, bytes, count))
        self->has_ended = !icodec_fail(self->error, ICODEC_MEMORY, -1, "out of memory");
    return !self->has_ended;
}

/// About a hundred times while a picture is encoded.
static int on_progress(int percent, const WebPPicture *picture) {
    (void)percent;
    encoder *self = picture->custom_ptr;
    if (!icodec_watch_allows(self->watch, self->error)) self->has_ended = true;
    return !self->has_ended;
}

bool icodec_webp_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, bool has_alpha,
    const icodec_webp_options *options, const icodec_watch *watch, uint8_t **bytes, size_t *count,
    icodec_error *error) {
    if (!icodec_open_libwebp(error)) return false;
    WebPConfig config;
    WebPPicture picture;
    if (!WebPConfigInitInternal(&config, WEBP_PRESET_DEFAULT, 75, WEBP_ENCODER_ABI_VERSION) ||
        !WebPPictureInitInternal(&picture, WEBP_ENCODER_ABI_VERSION))
        return icodec_fail(error, ICODEC_INTERNAL, -1, "libwebp of another version");
    config.lossless = options->lossless;
    config.quality = options->quality;
    config.method = options->method;
    config.low_memory = options->saves_memory;
    if (!WebPValidateConfig(&config)) return icodec_fail(error, ICODEC_INTERNAL, -1, "options that libwebp refuses");
    encoder self = {.memory = options->memory, .watch = watch, .error = error};
    picture.use_argb = options->lossless;
    picture.width = (int)width;
    picture.height = (int)height;
    picture.writer = on_write;
    picture.custom_ptr = &self;
    picture.progress_hook = on_progress;
    bool imported = has_alpha ? WebPPictureImportRGBA(&picture, pixels, (int)stride)
                              : WebPPictureImportRGBX(&picture, pixels, (int)stride);
    if (imported && !icodec_watch_allows(watch, error)) self.has_ended = true;
    bool done = imported && !self.has_ended && WebPEncode(&config, &picture);
    if (!done && !self.has_ended) {
        bool is_memory = picture.error_code == VP8_ENC_ERROR_OUT_OF_MEMORY ||
            picture.error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY;
        icodec_fail(
            error, is_memory ? ICODEC_MEMORY : ICODEC_INTERNAL, -1, "libwebp could not encode (its error %d)",
            picture.error_code);
    }
    WebPPictureFree(&picture);
    if (done) {
        *bytes = self.bytes.bytes;
        *count = self.bytes.count;
    } else {
        free(self.bytes.bytes);
    }
    return done;
}
