#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>

#include "icodec_jpeg.h"
#include "internal.h"
#include "libjpeg_calls.h"

typedef struct {
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr output;
    jmp_buf jump;
    icodec_bytes bytes;
    uint8_t buffer[16384];
    icodec_error *error;
    const icodec_watch *watch;
    struct jpeg_progress_mgr progress;
    uint64_t memory;
} encoder;

static void on_error(j_common_ptr info) {
    encoder *self = info->client_data;
    if (info->err->msg_code == JERR_NO_BACKING_STORE) {
        icodec_fail(self->error, ICODEC_LIMIT, -1, "encoding needs more memory than allowed");
        longjmp(self->jump, 1);
    }
    char message[JMSG_LENGTH_MAX];
    info->err->format_message(info, message);
    icodec_fail(self->error, ICODEC_INTERNAL, -1, "%s", message);
    longjmp(self->jump, 1);
}

static void on_message(j_common_ptr info, int level) { (void)info, (void)level; }
static void on_output(j_common_ptr info) { (void)info; }

static void rewind_buffer(j_compress_ptr info) {
    encoder *self = info->client_data;
    self->output.next_output_byte = self->buffer;
    self->output.free_in_buffer = sizeof self->buffer;
}

static void on_progress(j_common_ptr info) {
    encoder *self = info->client_data;
    if (!icodec_watch_allows(self->watch, self->error)) longjmp(self->jump, 1);
}

static void append(encoder *self, size_t count) {
    if (self->bytes.count + count > self->memory) {
        icodec_fail(self->error, ICODEC_LIMIT, -1, "the file would take more memory than allowed");
        longjmp(self->jump, 1);
    }
    if (icodec_append(&self->bytes, self->buffer, count)) return;
    icodec_fail(self->error, ICODEC_MEMORY, -1, "out of memory");
    longjmp(self->jump, 1);
}

static boolean flush(j_compress_ptr info) {
    encoder *self = info->client_data;
    append(self, sizeof self->buffer);
    rewind_buffer(info);
    return TRUE;
}

static void flush_rest(j_compress_ptr info) {
    encoder *self = info->client_data;
    append(self, sizeof self->buffer - self->output.free_in_buffer);
}

static void set_sampling(j_compress_ptr info, int sampling) {
    if (info->num_components < 3) return;
    info->comp_info[0].h_samp_factor = sampling == ICODEC_SAMPLING_444 ? 1 : 2;
    info->comp_info[0].v_samp_factor = sampling == ICODEC_SAMPLING_420 ? 2 : 1;
}

static void write_exif(j_compress_ptr info, const icodec_jpeg_options *options) {
    // A marker segment holds 65,533 bytes; a larger block was none that a JPEG can carry.
    if (!options->exif_size || options->exif_size > 65533 - 6) return;
    jpeg_write_m_header(info, JPEG_APP0 + 1, (unsigned)options->exif_size + 6);
    for (int index = 0; index < 6; index++) jpeg_write_m_byte(info, "Exif\0\0"[index]);
    for (size_t index = 0; index < options->exif_size; index++) jpeg_write_m_byte(info, options->exif[index]);
}

bool icodec_jpeg_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, const icodec_jpeg_options *options,
    const icodec_watch *watch, uint8_t **bytes, size_t *count, icodec_error *error) {
    if (!icodec_open_libjpeg(error)) return false;
    encoder *self = calloc(1, sizeof *self);
    if (!self) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    j_compress_ptr info = &self->info;
    self->error = error;
    self->watch = watch;
    self->memory = options->memory;
    info->err = jpeg_std_error(&self->errors);
    self->errors.error_exit = on_error;
    self->errors.emit_message = on_message;
    self->errors.output_message = on_output;
    info->client_data = self;
    if (setjmp(self->jump)) {
        jpeg_destroy_compress(info);
        free(self->bytes.bytes);
        free(self);
        return false;
    }
    jpeg_create_compress(info);
    self->progress.progress_monitor = on_progress;
    info->progress = &self->progress;
    info->mem->max_memory_to_use = options->memory > INT64_MAX ? INT64_MAX : (long)options->memory;
    self->output.init_destination = rewind_buffer;
    self->output.empty_output_buffer = flush;
    self->output.term_destination = flush_rest;
    info->dest = &self->output;
    info->image_width = width;
    info->image_height = height;
    info->input_components = 4;
    info->in_color_space = JCS_EXT_RGBX;
    jpeg_set_defaults(info);
    if (options->gray) jpeg_set_colorspace(info, JCS_GRAYSCALE);
    jpeg_set_quality(info, options->quality, TRUE);
    info->optimize_coding = options->optimized;
    set_sampling(info, options->sampling);
    if (options->progressive) jpeg_simple_progression(info);
    jpeg_start_compress(info, TRUE);
    write_exif(info, options);
    if (options->icc_size) jpeg_write_icc_profile(info, options->icc, (unsigned)options->icc_size);
    while (info->next_scanline < info->image_height) {
        JSAMPROW row = (JSAMPROW)(pixels + stride * info->next_scanline);
        jpeg_write_scanlines(info, &row, 1);
    }
    jpeg_finish_compress(info);
    jpeg_destroy_compress(info);
    *bytes = self->bytes.bytes;
    *count = self->bytes.count;
    free(self);
    return true;
}
