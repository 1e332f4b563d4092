#include "jpeg_coarse.h"

#include <stdlib.h>
#include <string.h>

struct icodec_jpeg {
    icodec_jpeg_core core;
    icodec_source source;
    icodec_jpeg_coarse coarse;
    bool has_header;
    uint8_t filtered[32768 + 16];
    uint8_t buffer[32768]; // a file's part that is being read
};

static const JOCTET end_of_image[2] = {0xFF, JPEG_EOI};

static void begin(j_decompress_ptr info) { (void)info; }

/// The next part without the data that is irrelevant at 1/8 of the size.
static boolean refill_coarsely(icodec_jpeg *jpeg) {
    icodec_jpeg_core *core = &jpeg->core;
    size_t count = 0;
    while (count == 0) {
        icodec_jpeg_check_watch(core);
        ssize_t got = icodec_read(&jpeg->source, core->position, jpeg->buffer, sizeof jpeg->buffer);
        if (got < 0) icodec_jpeg_leave(core, ICODEC_IO, "the file cannot be read");
        if (got == 0) {
            core->at_end = true;
            core->input.next_input_byte = end_of_image;
            core->input.bytes_in_buffer = 2;
            return TRUE;
        }
        core->position += (uint64_t)got;
        count = icodec_jpeg_coarse_filter(&jpeg->coarse, jpeg->buffer, (size_t)got, jpeg->filtered);
        if ((uint32_t)core->info.input_scan_number + jpeg->coarse.skipped > core->limits.scans)
            icodec_jpeg_leave(core, ICODEC_LIMIT, "more scans than allowed");
    }
    core->input.next_input_byte = jpeg->filtered;
    core->input.bytes_in_buffer = count;
    return TRUE;
}

/// The next part of the input; at its end an end-of-image marker, again and again.
static boolean refill(j_decompress_ptr info) {
    icodec_jpeg *jpeg = info->client_data;
    icodec_jpeg_core *core = &jpeg->core;
    if (core->coarse) return refill_coarsely(jpeg);
    // Markers, of which there may be millions, would otherwise make no progress.
    icodec_jpeg_check_watch(core);
    if (!jpeg->has_header && core->position > icodec_most_header_bytes)
        icodec_jpeg_leave(core, ICODEC_LIMIT, "a header of too many bytes");
    uint64_t rest = jpeg->source.size > core->position ? jpeg->source.size - core->position : 0;
    // After the pixels, only the beginning of the remaining data matters.
    if (core->finishes) rest = 0;
    if (rest > icodec_watch_step) rest = icodec_watch_step;
    if (jpeg->source.bytes && rest > 0) {
        core->input.next_input_byte = jpeg->source.bytes + core->position;
        core->input.bytes_in_buffer = rest;
        core->position += rest;
        return TRUE;
    }
    ssize_t got = rest > 0 ? icodec_read(&jpeg->source, core->position, jpeg->buffer, sizeof jpeg->buffer) : 0;
    if (got < 0) icodec_jpeg_leave(core, ICODEC_IO, "the file cannot be read");
    if (got == 0) {
        core->at_end = true;
        core->input.next_input_byte = end_of_image;
        core->input.bytes_in_buffer = 2;
        return TRUE;
    }
    core->input.next_input_byte = jpeg->buffer;
    core->input.bytes_in_buffer = (size_t)got;
    core->position += (uint64_t)got;
    return TRUE;
}

static void skip(j_decompress_ptr info, long count) {
    icodec_jpeg *jpeg = info->client_data;
    struct jpeg_source_mgr *input = info->src;
    if (count <= 0) return;
    if ((size_t)count <= input->bytes_in_buffer) {
        input->next_input_byte += count;
        input->bytes_in_buffer -= (size_t)count;
        return;
    }
    // Its filter must see all bytes of a segment.
    while (jpeg->core.coarse && !jpeg->core.at_end && (size_t)count > input->bytes_in_buffer) {
        count -= (long)input->bytes_in_buffer;
        refill_coarsely(jpeg);
    }
    if (jpeg->core.coarse && !jpeg->core.at_end) {
        input->next_input_byte += count;
        input->bytes_in_buffer -= (size_t)count;
        return;
    }
    if (!jpeg->core.at_end) {
        // A segment may claim more than the file has.
        uint64_t rest = jpeg->source.size > jpeg->core.position ? jpeg->source.size - jpeg->core.position : 0;
        uint64_t beyond = (uint64_t)count - input->bytes_in_buffer;
        jpeg->core.position += beyond < rest ? beyond : rest;
    }
    input->bytes_in_buffer = 0;
    input->next_input_byte = NULL;
}

icodec_jpeg *icodec_jpeg_open(const icodec_source *source, const icodec_limits *limits, icodec_error *error) {
    if (!icodec_open_libjpeg(error)) return NULL;
    icodec_jpeg *jpeg = calloc(1, sizeof *jpeg);
    if (!jpeg) {
        icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        return NULL;
    }
    jpeg->source = *source;
    icodec_jpeg_core *core = &jpeg->core;
    core->source = &jpeg->source;
    if (setjmp(core->jump)) {
        icodec_jpeg_close(jpeg);
        return NULL;
    }
    core->input.init_source = begin;
    core->input.fill_input_buffer = refill;
    core->input.skip_input_data = skip;
    core->input.resync_to_restart = jpeg_resync_to_restart;
    core->input.term_source = begin;
    icodec_jpeg_prepare(core, limits, error);
    jpeg_read_header(&core->info, TRUE);
    jpeg->has_header = true;
    if (!icodec_jpeg_check(core, error)) {
        icodec_jpeg_close(jpeg);
        return NULL;
    }
    return jpeg;
}

void icodec_jpeg_describe(const icodec_jpeg *jpeg, icodec_description *description) {
    icodec_jpeg_describe_core(&jpeg->core, description);
}

bool icodec_jpeg_describe_scan(const icodec_jpeg *jpeg, icodec_jpeg_scan *scan) {
    return icodec_jpeg_scan_of(&jpeg->core, scan);
}

ptrdiff_t icodec_jpeg_peek(const icodec_jpeg *jpeg, uint64_t position, uint8_t *into, size_t count) {
    return icodec_read(&jpeg->source, position, into, count);
}

/// Detects a progressive file that ends before its last scans. With an end-of-image marker, before which ITU-T T.81
/// lets encoders omit coefficients, only one that ends before the accuracy is reached that its scans led to.
static bool misses_scans(const icodec_jpeg_core *core) {
    const struct jpeg_decompress_struct *info = &core->info;
    if (!info->progressive_mode || !info->coef_bits) return false;
    // Before an end marker, coefficients without any scan are zero; partially transmitted ones would have continued.
    int least = core->at_end ? -1 : 1;
    // It is unknown if the data of an omitted scan were complete; without the end after them they are not.
    if (core->coarse && core->coarse->drops) return true;
    for (int component = 0; component < info->num_components; component++)
        for (int index = 0; index < DCTSIZE2; index++)
            if (core->coarse && index > 0 && core->coarse->components[component].is_coarse) {
                if (icodec_jpeg_coarse_misses(core->coarse, component, index, core->at_end)) return true;
            } else if (info->coef_bits[component][index] != 0 && info->coef_bits[component][index] >= least) {
                return true;
            }
    return false;
}

void icodec_jpeg_set_watch(icodec_jpeg *jpeg, const icodec_watch *watch) { jpeg->core.watch = *watch; }

bool icodec_jpeg_start(
    icodec_jpeg *jpeg, int eighths, bool raw_cmyk, uint32_t *width, uint32_t *height, icodec_error *error) {
    icodec_jpeg_core *core = &jpeg->core;
    j_decompress_ptr info = &core->info;
    core->error = error;
    if (setjmp(core->jump)) return false;
    icodec_jpeg_configure(core, eighths, raw_cmyk);
    if (eighths == 1 && jpeg_has_multiple_scans(info) && info->num_components <= 4 && !core->at_end &&
        icodec_jpeg_may_be_coarse(core)) {
        icodec_jpeg_coarse_prepare(&jpeg->coarse, core);
        // The buffer's content is passed through the filter again.
        core->position = (uint64_t)icodec_jpeg_offset(core);
        core->input.bytes_in_buffer = 0;
        core->input.next_input_byte = NULL;
    }
    // Reads all scans of a progressive file.
    jpeg_start_decompress(info);
    // Damage may hide the beginning of a scan too.
    if ((core->at_end || core->damage.code == 0) && misses_scans(core))
        icodec_jpeg_end_early(core, "the file ends before its last scan");
    *width = info->output_width;
    *height = info->output_height;
    return true;
}

bool icodec_jpeg_rows(
    icodec_jpeg *jpeg, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error) {
    icodec_jpeg_core *core = &jpeg->core;
    core->error = error;
    *got = 0;
    if (setjmp(core->jump)) return false;
    icodec_jpeg_read_rows(core, rows, stride, count, got);
    return true;
}

bool icodec_jpeg_finish(icodec_jpeg *jpeg, icodec_error *error) {
    icodec_jpeg_core *core = &jpeg->core;
    core->error = error;
    if (core->info.output_scanline < core->info.output_height || core->at_end) return true;
    core->finishes = true;
    // The pixels are correct regardless of errors there.
    if (setjmp(core->jump)) return error->code != ICODEC_CANCELLED && error->code != ICODEC_LIMIT;
    jpeg_finish_decompress(&core->info);
    return true;
}

icodec_error icodec_jpeg_damage(const icodec_jpeg *jpeg) { return jpeg->core.damage; }

void icodec_jpeg_close(icodec_jpeg *jpeg) {
    if (!jpeg) return;
    icodec_jpeg_release(&jpeg->core);
    free(jpeg);
}
