#include "jpeg_internal.h"

#include <stdlib.h>
#include <string.h>

struct icodec_jpeg_preview {
    icodec_jpeg_core core;
    icodec_bytes waiting; // not yet consumed
    uint64_t to_skip; // bytes to pass over that have not come yet
    bool has_header, has_started, has_output, has_ended;
};

static void begin(j_decompress_ptr info) { (void)info; }

/// No more for now: libjpeg goes back to where it can start again.
static boolean pause_input(j_decompress_ptr info) { return (void)info, FALSE; }

static void skip(j_decompress_ptr info, long count) {
    icodec_jpeg_preview *self = info->client_data;
    if (count <= 0) return;
    size_t here = self->core.input.bytes_in_buffer < (size_t)count ? self->core.input.bytes_in_buffer : (size_t)count;
    self->core.input.next_input_byte += here;
    self->core.input.bytes_in_buffer -= here;
    self->to_skip += (size_t)count - here;
}

icodec_jpeg_preview *icodec_jpeg_preview_create(const icodec_limits *limits, icodec_error *error) {
    if (!icodec_open_libjpeg(error)) return NULL;
    icodec_jpeg_preview *self = calloc(1, sizeof *self);
    if (!self) {
        icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        return NULL;
    }
    icodec_jpeg_core *core = &self->core;
    core->suspends = true;
    core->input.init_source = begin;
    core->input.fill_input_buffer = pause_input;
    core->input.skip_input_data = skip;
    core->input.resync_to_restart = jpeg_resync_to_restart;
    core->input.term_source = begin;
    if (setjmp(core->jump)) {
        icodec_jpeg_preview_destroy(self);
        return NULL;
    }
    icodec_jpeg_prepare(core, limits, error);
    return self;
}

/// Drops the consumed bytes and appends new ones.
static bool take(icodec_jpeg_preview *self, const uint8_t *bytes, size_t count) {
    struct jpeg_source_mgr *input = &self->core.input;
    size_t rest = input->bytes_in_buffer;
    if (rest > 0) memmove(self->waiting.bytes, input->next_input_byte, rest);
    self->waiting.count = rest;
    size_t skipped = self->to_skip < count ? (size_t)self->to_skip : count;
    self->to_skip -= skipped;
    self->core.position += count;
    bool done = icodec_append(&self->waiting, bytes + skipped, count - skipped);
    input->next_input_byte = self->waiting.bytes;
    input->bytes_in_buffer = self->waiting.count;
    return done;
}

bool icodec_jpeg_preview_append(
    icodec_jpeg_preview *self, const uint8_t *bytes, size_t count, bool *has_header, uint32_t *scans,
    icodec_error *error) {
    icodec_jpeg_core *core = &self->core;
    j_decompress_ptr info = &core->info;
    core->error = error;
    core->watch.deadline = icodec_cpu_seconds() + core->limits.seconds;
    if (!take(self, bytes, count)) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    if (setjmp(core->jump)) return false;
    if (!self->has_header && jpeg_read_header(info, TRUE) != JPEG_SUSPENDED) {
        if (!icodec_jpeg_check(core, error)) return false;
        self->has_header = true;
    }
    if (self->has_started)
        while (!self->has_ended) {
            int state = jpeg_consume_input(info);
            if (state == JPEG_REACHED_EOI) self->has_ended = true;
            if (state == JPEG_SUSPENDED) break;
            if ((uint32_t)info->input_scan_number > core->limits.scans)
                icodec_jpeg_leave(core, ICODEC_LIMIT, "more scans than allowed");
            icodec_jpeg_check_watch(core);
        }
    *has_header = self->has_header;
    *scans = 0;
    if (self->has_started && info->input_scan_number > 0)
        *scans = (uint32_t)info->input_scan_number - (self->has_ended ? 0 : 1);
    return true;
}

void icodec_jpeg_preview_describe(const icodec_jpeg_preview *self, icodec_description *description) {
    icodec_jpeg_describe_core(&self->core, description);
}

bool icodec_jpeg_preview_start(
    icodec_jpeg_preview *self, int eighths, bool raw_cmyk, uint32_t *width, uint32_t *height, icodec_error *error) {
    icodec_jpeg_core *core = &self->core;
    j_decompress_ptr info = &core->info;
    core->error = error;
    if (setjmp(core->jump)) return false;
    icodec_jpeg_configure(core, eighths, raw_cmyk);
    info->buffered_image = TRUE;
    jpeg_start_decompress(info);
    self->has_started = true;
    *width = info->output_width;
    *height = info->output_height;
    return true;
}

bool icodec_jpeg_preview_begin(icodec_jpeg_preview *self, icodec_error *error) {
    icodec_jpeg_core *core = &self->core;
    j_decompress_ptr info = &core->info;
    core->error = error;
    core->watch.deadline = icodec_cpu_seconds() + core->limits.seconds;
    if (setjmp(core->jump)) return false;
    if (self->has_output) jpeg_finish_output(info);
    self->has_output = true;
    // The last scan that is complete, so that nothing of the image has to wait for input.
    int scan = info->input_scan_number - (self->has_ended ? 0 : 1);
    if (scan < 1 || !jpeg_start_output(info, scan))
        return icodec_fail(error, ICODEC_TRUNCATED, -1, "no scan is complete yet");
    return true;
}

bool icodec_jpeg_preview_rows(
    icodec_jpeg_preview *self, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error) {
    icodec_jpeg_core *core = &self->core;
    core->error = error;
    *got = 0;
    if (setjmp(core->jump)) return false;
    icodec_jpeg_read_rows(core, rows, stride, count, got);
    return true;
}

void icodec_jpeg_preview_destroy(icodec_jpeg_preview *self) {
    if (!self) return;
    icodec_jpeg_release(&self->core);
    free(self->waiting.bytes);
    free(self);
}
