#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "icodec_png.h"
#include "libpng_calls.h"

struct icodec_png {
    png_structp png;
    png_infop info;
    jmp_buf jump;
    icodec_error *error; // of the call that runs
    icodec_error damage;
    icodec_source source;
    icodec_limits limits;
    icodec_watch watch;
    uint64_t position, memory, reads;
    uint32_t frames, row;
    bool at_end, has_ended, is_header;
    bool is_short; // of the memory that the limits allow
    size_t buffered, consumed;
    uint8_t buffer[32768]; // a file's part that is being read
};

static void leave(icodec_png *self, int code, const char *reason) {
    icodec_fail(self->error, code, (int64_t)self->position, "%s", reason);
    longjmp(self->jump, 1);
}

static void check_time(icodec_png *self) {
    if (!icodec_watch_allows(&self->watch, self->error)) longjmp(self->jump, 1);
}

static void on_error(png_structp png, png_const_charp message) {
    icodec_png *self = png_get_error_ptr(png);
    // libpng does without some of what it asks for.
    if (self->is_short && strstr(message, "emory")) leave(self, ICODEC_LIMIT, "decoding needs more memory than allowed");
    leave(self, self->at_end ? ICODEC_TRUNCATED : ICODEC_CORRUPT, message);
}

/// Receives warnings about tolerated errors: damaged ancillary chunks, odd profiles. The pixels are not affected.
static void on_warning(png_structp png, png_const_charp message) { (void)png, (void)message; }

typedef union {
    uint64_t size;
    max_align_t alignment;
} block;

static png_voidp take_memory(png_structp png, png_alloc_size_t size) {
    icodec_png *self = png_get_mem_ptr(png);
    self->is_short = size > self->limits.memory || self->memory + size > self->limits.memory;
    if (self->is_short) return NULL;
    block *memory = malloc(sizeof(block) + size);
    if (!memory) return NULL;
    memory->size = size;
    self->memory += size;
    return memory + 1;
}

static void give_memory(png_structp png, png_voidp pointer) {
    if (!pointer) return;
    icodec_png *self = png_get_mem_ptr(png);
    block *memory = (block *)pointer - 1;
    self->memory -= memory->size;
    free(memory);
}

/// Counts the reads: two for each chunk, and one for each KiB of those that are passed over. Of pixels, where encoders write chunks of
/// kilobytes, the file may have as many as it is large.
static void count_read(icodec_png *self, size_t count) {
    uint64_t most = 2 * icodec_most_items + (self->is_header ? 0 : self->source.size / 256);
    if (++self->reads > most) leave(self, ICODEC_LIMIT, self->is_header ? "a header of too many chunks" : "too many chunks");
    // A megabyte of data may inflate to a gigabyte.
    if (count >= 1024 || self->reads % 64 == 0) check_time(self);
}

static void on_read(png_structp png, png_bytep into, size_t count) {
    icodec_png *self = png_get_io_ptr(png);
    count_read(self, count);
    while (count > 0) {
        if (self->consumed == self->buffered || self->source.bytes) {
            bool direct = self->source.bytes || count >= sizeof self->buffer;
            ssize_t got = direct ? icodec_read(&self->source, self->position, into, count)
                                 : icodec_read(&self->source, self->position, self->buffer, sizeof self->buffer);
            if (got < 0) leave(self, ICODEC_IO, "the file cannot be read");
            if (got == 0) {
                self->at_end = true;
                leave(self, ICODEC_TRUNCATED, "the file ends early");
            }
            if (direct) {
                into += got;
                count -= (size_t)got;
                self->position += (uint64_t)got;
                continue;
            }
            self->buffered = (size_t)got;
            self->consumed = 0;
        }
        size_t part = self->buffered - self->consumed < count ? self->buffered - self->consumed : count;
        memcpy(into, self->buffer + self->consumed, part);
        self->consumed += part;
        self->position += part;
        into += part;
        count -= part;
    }
}

static uint32_t number(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int on_chunk(png_structp png, png_unknown_chunkp chunk) {
    icodec_png *self = png_get_user_chunk_ptr(png);
    if (memcmp(chunk->name, "acTL", 4) == 0 && chunk->size == 8) self->frames = number(chunk->data);
    return memcmp(chunk->name, "acTL", 4) == 0;
}

static void prepare(icodec_png *self) {
    png_structp png = self->png;
    png_set_read_fn(png, self, on_read);
    png_set_benign_errors(png, 1);
    png_set_user_limits(png, 0x7FFFFFFF, 0x7FFFFFFF); // checked before, with an error that says so
    png_set_chunk_malloc_max(png, self->limits.ancillary);
    png_set_chunk_cache_max(png, 64);
    // Unnecessary chunks are skipped unread: texts are not inflated, thousands of chunks cost nothing.
    static const png_byte unwanted[] = "bKGD\0hIST\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0tEXt\0tIME\0zTXt\0iTXt";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, unwanted, sizeof unwanted / 5);
    png_set_read_user_chunk_fn(png, self, on_chunk);
}

/// Checks the size in the header's first bytes, before libpng reads it.
static bool check_header(const icodec_source *source, const icodec_limits *limits, icodec_error *error) {
    uint8_t start[24];
    if (icodec_read(source, 0, start, sizeof start) != sizeof start)
        return icodec_fail(error, ICODEC_TRUNCATED, -1, "the file ends within its header");
    if (memcmp(start + 12, "IHDR", 4) != 0) return icodec_fail(error, ICODEC_CORRUPT, 12, "IHDR is not the first chunk");
    return icodec_check_size(limits, number(start + 16), number(start + 20), error);
}

icodec_png *icodec_png_open(const icodec_source *source, const icodec_limits *limits, icodec_error *error) {
    if (!icodec_open_libpng(error) || !check_header(source, limits, error)) return NULL;
    icodec_png *self = calloc(1, sizeof *self);
    if (!self) {
        icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        return NULL;
    }
    self->source = *source;
    self->limits = *limits;
    self->watch = limits->watch;
    self->error = error;
    self->frames = 1;
    self->is_header = true;
    icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    if (setjmp(self->jump)) {
        icodec_png_close(self);
        return NULL;
    }
    self->png = png_create_read_struct_2(
        PNG_LIBPNG_VER_STRING, self, on_error, on_warning, self, take_memory, give_memory);
    if (self->png) self->info = png_create_info_struct(self->png);
    if (!self->info) {
        if (self->is_short) icodec_fail(error, ICODEC_LIMIT, -1, "decoding needs more memory than allowed");
        icodec_png_close(self);
        return NULL;
    }
    prepare(self);
    png_read_info(self->png, self->info);
    self->is_header = false;
    return self;
}

void icodec_png_describe(const icodec_png *self, icodec_description *description) {
    png_structp png = self->png;
    png_infop info = self->info;
    memset(description, 0, sizeof *description);
    int color = png_get_color_type(png, info);
    description->width = png_get_image_width(png, info);
    description->height = png_get_image_height(png, info);
    description->components = png_get_channels(png, info);
    description->bit_depth = png_get_bit_depth(png, info);
    description->frames = self->frames;
    description->has_alpha = (color & PNG_COLOR_MASK_ALPHA) || png_get_valid(png, info, PNG_INFO_tRNS);
    description->interlaced = png_get_interlace_type(png, info) != PNG_INTERLACE_NONE;
    description->is_gray = !(color & PNG_COLOR_MASK_COLOR);
    description->says_srgb = png_get_valid(png, info, PNG_INFO_sRGB);
    double gamma;
    if (png_get_gAMA(png, info, &gamma)) description->gamma = gamma;
    double *places = description->chromaticities;
    if (!png_get_cHRM(
            png, info, &places[0], &places[1], &places[2], &places[3], &places[4], &places[5], &places[6], &places[7]))
        memset(places, 0, sizeof description->chromaticities);
    png_charp name;
    int compression;
    png_bytep profile;
    png_uint_32 count;
    if (png_get_iCCP(png, info, &name, &compression, &profile, &count)) {
        description->icc = profile;
        description->icc_size = count;
    }
    png_bytep exif;
    if (png_get_eXIf_1(png, info, &count, &exif)) {
        description->exif = exif;
        description->exif_size = count;
    }
}

void icodec_png_set_watch(icodec_png *self, const icodec_watch *watch) { self->watch = *watch; }

/// The number of rows between two checks of the time.
static uint32_t rows_between_checks(icodec_png *self) {
    uint32_t rows = icodec_watch_step / png_get_image_width(self->png, self->info);
    return rows < 1 ? 1 : rows > 64 ? 64 : rows;
}

bool icodec_png_start(icodec_png *self, icodec_error *error) {
    self->error = error;
    if (setjmp(self->jump)) return false;
    // Gray below 8 bits is widened, palettes are looked up, tRNS becomes alpha; of 16 bits the upper 8 are kept.
    png_set_expand(self->png);
    png_set_strip_16(self->png);
    png_set_gray_to_rgb(self->png);
    png_set_add_alpha(self->png, 0xFF, PNG_FILLER_AFTER);
    png_set_interlace_handling(self->png);
    png_read_update_info(self->png, self->info);
    if (png_get_rowbytes(self->png, self->info) != (size_t)png_get_image_width(self->png, self->info) * 4)
        leave(self, ICODEC_INTERNAL, "rows of an unexpected length");
    return true;
}

/// Returns true if the available part is kept after an error.
static bool keeps_rest(icodec_png *self) {
    bool is_fault = self->error->code == ICODEC_TRUNCATED || self->error->code == ICODEC_CORRUPT;
    // Without a single row there is nothing to show.
    if (!self->limits.allow_truncated || !is_fault || self->row == 0) return false;
    self->damage = *self->error;
    self->has_ended = true;
    return true;
}

/// Before the last row: afterwards libpng inflates all remaining data and discards it, which must be limited.
static void hurry(icodec_png *self) {
    double soon = icodec_cpu_seconds() + 0.25;
    if (soon < self->watch.deadline) self->watch.deadline = soon;
}

bool icodec_png_rows(
    icodec_png *self, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error) {
    self->error = error;
    *got = 0;
    if (self->has_ended) return true;
    if (setjmp(self->jump)) return keeps_rest(self);
    uint32_t height = png_get_image_height(self->png, self->info);
    uint32_t between = rows_between_checks(self);
    while (*got < count && self->row < height) {
        if (*got % between == 0) check_time(self);
        if (self->row == height - 1) hurry(self);
        png_read_row(self->png, rows + stride * *got, NULL);
        self->row++;
        ++*got;
    }
    return true;
}

bool icodec_png_image(icodec_png *self, uint8_t *pixels, size_t stride, icodec_error *error) {
    self->error = error;
    if (setjmp(self->jump)) return keeps_rest(self);
    uint32_t height = png_get_image_height(self->png, self->info), between = rows_between_checks(self);
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++)
        for (uint32_t row = 0; row < height; row++) {
            if (row % between == 0) check_time(self);
            if (pass == PNG_INTERLACE_ADAM7_PASSES - 1 && row == height - 1) hurry(self);
            png_read_row(self->png, pixels + stride * row, NULL);
            self->row = row + 1;
        }
    return true;
}

bool icodec_png_finish(icodec_png *self, icodec_error *error) {
    self->error = error;
    if (self->has_ended) return true;
    hurry(self);
    // A file without its end, but with all its pixels, is whole.
    if (setjmp(self->jump)) return self->at_end || keeps_rest(self);
    png_read_end(self->png, NULL);
    return true;
}

icodec_error icodec_png_damage(const icodec_png *self) { return self->damage; }

void icodec_png_close(icodec_png *self) {
    if (!self) return;
    if (self->png) png_destroy_read_struct(&self->png, &self->info, NULL);
    free(self);
}
