#define ICODEC_LOADS_LIBRARIES

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "libavif_calls.h"
#include "libgif_calls.h"
#include "libheif_calls.h"
#include "libjpeg_calls.h"
#include "libjxl_calls.h"
#include "liblcms_calls.h"
#include "libpng_calls.h"
#include "libtiff_calls.h"
#include "libwebp_calls.h"

icodec_jpeg_calls icodec_libjpeg;
icodec_png_calls icodec_libpng;
icodec_webp_calls icodec_libwebp;
icodec_webpdemux_calls icodec_libwebpdemux;
icodec_webpmux_calls icodec_libwebpmux;
icodec_lcms_calls icodec_liblcms;
icodec_gif_calls icodec_libgif;
icodec_avif_calls icodec_libavif;
icodec_heif_calls icodec_libheif;
icodec_de265_calls icodec_libde265;
icodec_jxl_calls icodec_libjxl;
icodec_tiff_calls icodec_libtiff;

// The names under which the libraries that the headers belong to are installed.
#if JPEG_LIB_VERSION >= 80
static const char jpeg_name[] = "libjpeg.so.8";
#elif JPEG_LIB_VERSION >= 70
static const char jpeg_name[] = "libjpeg.so.7";
#else
static const char jpeg_name[] = "libjpeg.so.62";
#endif
static const char png_name[] = "libpng16.so.16";
static const char webp_name[] = "libwebp.so.7";
static const char webpdemux_name[] = "libwebpdemux.so.2";
static const char webpmux_name[] = "libwebpmux.so.3";
static const char lcms_name[] = "liblcms2.so.2";
static const char gif_name[] = "libgif.so.7";
// libavif's structures change with its version: the one that the headers belong to.
#if AVIF_VERSION_MAJOR >= 1
static const char avif_name[] = "libavif.so.16";
#else
static const char avif_name[] = "libavif.so.15";
#endif
static const char heif_name[] = "libheif.so.1";
static const char de265_name[] = "libde265.so.0";
static const char jxl_name[] = "libjxl.so.0.7";
static const char *const jxl_others[] = {"libjxl.so.0.8", "libjxl.so.0.9", "libjxl.so.0.10", "libjxl.so.0.11", NULL};
static const char tiff_name[] = "libtiff.so.6"; // since 4.5
static const char *const tiff_others[] = {"libtiff.so.5", NULL};

/// A library that is opened when it is first needed, and stays open. One that cannot be opened is tried again by who needs it next: what the
/// process has lacked for a moment (descriptors, memory) it may have then.
typedef struct {
    const char *name;
    const char *const *others; // names of other versions that serve as well, with NULL at the end; NULL: none do
    size_t count;
    const char *const *names; // of functions
    void *calls; // their pointers
    pthread_mutex_t lock;
    atomic_bool is_open;
} late_library;

/// True once the process may lose the right to open files. Libraries that are not open by then cannot be opened.
static atomic_bool is_final;

static bool open_functions(const late_library *library, icodec_error *error) {
    void *handle = is_final ? NULL : dlopen(library->name, RTLD_NOW | RTLD_LOCAL);
    for (const char *const *other = library->others; !handle && !is_final && other && *other; other++)
        handle = dlopen(*other, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *reason = is_final ? NULL : dlerror();
        return icodec_fail(
            error, ICODEC_INTERNAL, -1, "%s cannot be opened (%s)", library->name, reason ? reason : "it was not at the start");
    }
    for (size_t index = 0; index < library->count; index++) {
        void *function = dlsym(handle, library->names[index]);
        if (!function) {
            dlclose(handle);
            return icodec_fail(
                error, ICODEC_INTERNAL, -1, "%s is of another version: it has no %s", library->name, library->names[index]);
        }
        memcpy((char *)library->calls + index * sizeof function, &function, sizeof function);
    }
    return true;
}

static bool open_library(late_library *library, icodec_error *error) {
    if (atomic_load_explicit(&library->is_open, memory_order_acquire)) return true;
    pthread_mutex_lock(&library->lock);
    bool is_open = library->is_open || open_functions(library, error);
    atomic_store_explicit(&library->is_open, is_open, memory_order_release);
    pthread_mutex_unlock(&library->lock);
    return is_open;
}

#define NAME(name) #name,

#define LOADER(library, list) LOADER_OF_VERSIONS(library, list, NULL)

#define LOADER_OF_VERSIONS(library, list, others)                                                                      \
    static const char *const library##_names[] = {list(NAME)};                                                         \
    _Static_assert(sizeof icodec_lib##library == sizeof library##_names, "a pointer for each name");                    \
    static late_library library##_library = {library##_name,                                                           \
                                             others,                                                                   \
                                             sizeof library##_names / sizeof *library##_names,                         \
                                             library##_names,                                                          \
                                             &icodec_lib##library,                                                     \
                                             PTHREAD_MUTEX_INITIALIZER,                                                \
                                             false};                                                                   \
    static bool open_##library(icodec_error *error) { return open_library(&library##_library, error); }

LOADER(jpeg, ICODEC_JPEG_CALLS)
LOADER(png, ICODEC_PNG_CALLS)
LOADER(webp, ICODEC_WEBP_CALLS)
LOADER(webpdemux, ICODEC_WEBPDEMUX_CALLS)
LOADER(webpmux, ICODEC_WEBPMUX_CALLS)
LOADER(lcms, ICODEC_LCMS_CALLS)
LOADER(gif, ICODEC_GIF_CALLS)
LOADER(avif, ICODEC_AVIF_CALLS)
LOADER(heif, ICODEC_HEIF_CALLS)
LOADER(de265, ICODEC_DE265_CALLS)
LOADER_OF_VERSIONS(jxl, ICODEC_JXL_CALLS, jxl_others)
LOADER_OF_VERSIONS(tiff, ICODEC_TIFF_CALLS, tiff_others)

bool icodec_open_libjpeg(icodec_error *error) { return open_jpeg(error); }
bool icodec_open_libpng(icodec_error *error) { return open_png(error); }
bool icodec_open_libwebp(icodec_error *error) { return open_webp(error) && open_webpdemux(error); }
bool icodec_open_libwebpmux(icodec_error *error) { return open_webp(error) && open_webpmux(error); }
bool icodec_open_liblcms(icodec_error *error) { return open_lcms(error); }
bool icodec_open_libavif(icodec_error *error) { return open_avif(error); }
bool icodec_open_libgif(icodec_error *error) { return open_gif(error); }

bool icodec_open_libheif(icodec_error *error) {
    return (open_de265(error) && open_heif(error)) ||
        icodec_fail(error, ICODEC_UNAVAILABLE, -1, "HEIF needs libheif and libde265 (Debian package libheif1), which cannot be opened");
}

bool icodec_open_libjxl(icodec_error *error) {
    return open_jxl(error) ||
        icodec_fail(error, ICODEC_UNAVAILABLE, -1, "JPEG XL needs libjxl (Debian package libjxl0.7), which cannot be opened");
}

bool icodec_open_libtiff(icodec_error *error) {
    return open_tiff(error) ||
        icodec_fail(error, ICODEC_UNAVAILABLE, -1, "TIFF needs libtiff (Debian package libtiff6), which cannot be opened");
}

void icodec_open_libraries(void) {
    icodec_error error;
    icodec_open_libjpeg(&error);
    icodec_open_libpng(&error);
    icodec_open_libwebp(&error);
    icodec_open_libwebpmux(&error);
    icodec_open_libgif(&error);
    icodec_open_libavif(&error);
    icodec_open_liblcms(&error);
    icodec_open_libheif(&error);
    icodec_open_libjxl(&error);
    icodec_open_libtiff(&error);
    is_final = true;
}
