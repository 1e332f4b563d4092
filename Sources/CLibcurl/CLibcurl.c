#include "CLibcurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

// curl.h wraps these in type-checking or arity macros; the table below needs the plain names.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt
#undef curl_share_setopt

// Every function that is taken from the library, by its declared type: a signature can never drift from curl.h.
#define FUNCTIONS(X)                                                                                                   \
    X(curl_global_init)                                                                                                \
    X(curl_version)                                                                                                    \
    X(curl_easy_init)                                                                                                  \
    X(curl_easy_cleanup)                                                                                               \
    X(curl_easy_reset)                                                                                                 \
    X(curl_easy_pause)                                                                                                 \
    X(curl_easy_strerror)                                                                                              \
    X(curl_easy_setopt)                                                                                                \
    X(curl_easy_getinfo)                                                                                               \
    X(curl_multi_init)                                                                                                 \
    X(curl_multi_cleanup)                                                                                              \
    X(curl_multi_add_handle)                                                                                           \
    X(curl_multi_remove_handle)                                                                                        \
    X(curl_multi_perform)                                                                                              \
    X(curl_multi_poll)                                                                                                 \
    X(curl_multi_wakeup)                                                                                               \
    X(curl_multi_setopt)                                                                                               \
    X(curl_multi_strerror)                                                                                             \
    X(curl_multi_info_read)                                                                                            \
    X(curl_share_init)                                                                                                 \
    X(curl_share_cleanup)                                                                                              \
    X(curl_share_setopt)                                                                                               \
    X(curl_slist_append)                                                                                               \
    X(curl_slist_free_all)

#define DECLARE(name) __typeof__(&name) name##_;
static struct {
    FUNCTIONS(DECLARE)
} library;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_loaded;
static _Thread_local char failure[512];

static bool look_up(void *handle, const char *name, void **function) {
    *function = dlsym(handle, name);
    if (*function) {
        return true;
    }
    snprintf(failure, sizeof failure, "libcurl.so.4 is too old: it has no %s (7.81 or newer is needed)", name);
    return false;
}

static bool begin(void *handle) {
#define LOOK_UP(name)                                                                                                  \
    if (!look_up(handle, #name, (void **)&library.name##_)) {                                                          \
        return false;                                                                                                  \
    }
    FUNCTIONS(LOOK_UP)
    CURLcode code = library.curl_global_init_(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) {
        snprintf(failure, sizeof failure, "libcurl cannot be initialised: %s", library.curl_easy_strerror_(code));
    }
    return code == CURLE_OK;
}

static bool load(void) {
    void *handle = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        const char *reason = dlerror();
        snprintf(failure, sizeof failure, "libcurl cannot be opened (%s); on Debian and Ubuntu: apt install libcurl4",
                 reason ? reason : "no reason given");
        return false;
    }
    if (!begin(handle)) {
        dlclose(handle);
        return false;
    }
    return true;
}

const char *clibcurl_load(void) {
    if (atomic_load_explicit(&is_loaded, memory_order_acquire)) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    bool is_there = is_loaded || load();
    atomic_store_explicit(&is_loaded, is_there, memory_order_release);
    pthread_mutex_unlock(&lock);
    return is_there ? NULL : failure;
}

const char *clibcurl_version(void) { return library.curl_version_(); }

CURL *clibcurl_easy_init(void) { return library.curl_easy_init_(); }

void clibcurl_easy_cleanup(CURL *easy) { library.curl_easy_cleanup_(easy); }

void clibcurl_easy_reset(CURL *easy) { library.curl_easy_reset_(easy); }

CURLcode clibcurl_easy_pause(CURL *easy, int bitmask) { return library.curl_easy_pause_(easy, bitmask); }

const char *clibcurl_easy_strerror(CURLcode code) { return library.curl_easy_strerror_(code); }

CURLcode clibcurl_setopt_long(CURL *easy, CURLoption option, long value) {
    return library.curl_easy_setopt_(easy, option, value);
}

CURLcode clibcurl_setopt_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return library.curl_easy_setopt_(easy, option, value);
}

CURLcode clibcurl_setopt_string(CURL *easy, CURLoption option, const char *value) {
    return library.curl_easy_setopt_(easy, option, value);
}

CURLcode clibcurl_setopt_pointer(CURL *easy, CURLoption option, void *value) {
    return library.curl_easy_setopt_(easy, option, value);
}

CURLcode clibcurl_setopt_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return library.curl_easy_setopt_(easy, option, value);
}

CURLcode clibcurl_setopt_data_callback(CURL *easy, CURLoption option, clibcurl_data_callback value) {
    return library.curl_easy_setopt_(easy, option, value);
}

CURLcode clibcurl_setopt_socket_callback(CURL *easy, clibcurl_socket_callback value) {
    return library.curl_easy_setopt_(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}

CURLcode clibcurl_setopt_debug_callback(CURL *easy, clibcurl_debug_callback value) {
    return library.curl_easy_setopt_(easy, CURLOPT_DEBUGFUNCTION, value);
}

CURLcode clibcurl_getinfo_long(CURL *easy, CURLINFO info, long *value) {
    return library.curl_easy_getinfo_(easy, info, value);
}

CURLcode clibcurl_getinfo_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return library.curl_easy_getinfo_(easy, info, value);
}

CURLcode clibcurl_getinfo_pointer(CURL *easy, CURLINFO info, void **value) {
    return library.curl_easy_getinfo_(easy, info, value);
}

CURLM *clibcurl_multi_init(void) {
    CURLM *multi = library.curl_multi_init_();
    // Without free descriptors, libcurl still creates a handle.
    if (multi && library.curl_multi_wakeup_(multi) != CURLM_OK) {
        library.curl_multi_cleanup_(multi);
        return NULL;
    }
    return multi;
}

CURLMcode clibcurl_multi_cleanup(CURLM *multi) { return library.curl_multi_cleanup_(multi); }

CURLMcode clibcurl_multi_add_handle(CURLM *multi, CURL *easy) { return library.curl_multi_add_handle_(multi, easy); }

CURLMcode clibcurl_multi_remove_handle(CURLM *multi, CURL *easy) {
    return library.curl_multi_remove_handle_(multi, easy);
}

CURLMcode clibcurl_multi_perform(CURLM *multi, int *running) { return library.curl_multi_perform_(multi, running); }

CURLMcode clibcurl_multi_poll(CURLM *multi, int timeout_milliseconds) {
    return library.curl_multi_poll_(multi, NULL, 0, timeout_milliseconds, NULL);
}

CURLMcode clibcurl_multi_wakeup(CURLM *multi) { return library.curl_multi_wakeup_(multi); }

CURLMcode clibcurl_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
    return library.curl_multi_setopt_(multi, option, value);
}

const char *clibcurl_multi_strerror(CURLMcode code) { return library.curl_multi_strerror_(code); }

CURL *clibcurl_multi_next_done(CURLM *multi, CURLcode *code) {
    int left = 0;
    CURLMsg *message;
    while ((message = library.curl_multi_info_read_(multi, &left))) {
        if (message->msg == CURLMSG_DONE) {
            *code = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}

CURLSH *clibcurl_share_init(void) { return library.curl_share_init_(); }

CURLSHcode clibcurl_share_cleanup(CURLSH *share) { return library.curl_share_cleanup_(share); }

CURLSHcode clibcurl_share_data(CURLSH *share, curl_lock_data kind) {
    return library.curl_share_setopt_(share, CURLSHOPT_SHARE, kind);
}

struct curl_slist *clibcurl_slist_append(struct curl_slist *list, const char *line) {
    return library.curl_slist_append_(list, line);
}

void clibcurl_slist_free(struct curl_slist *list) { library.curl_slist_free_all_(list); }
