#ifndef CLIBCURL_H
#define CLIBCURL_H

// libcurl, opened with dlopen when the first transfer needs it. Nothing here links libcurl: a program that never
// transfers (a cache hit) never pays for loading it and the thirty-odd libraries that come along.
//
// Variadic C functions cannot be called from Swift, so each kind of argument has a function of its own.
// All functions but clibcurl_load may be called only after clibcurl_load has returned NULL.

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

// clang-format off
#ifdef __cplusplus
extern "C" {
#endif

/// Opens libcurl, once for the process; thread-safe. Returns NULL on success, otherwise the reason, which is valid until the thread's next
/// call. The next call tries again, because descriptors may be missing only for a moment.
const char *_Nullable clibcurl_load(void);

/// Macros, and names that newer headers have: constants, for Swift.
static const long clibcurl_auth_basic = CURLAUTH_BASIC;
static const long clibcurl_ipv4 = CURL_IPRESOLVE_V4;
static const long clibcurl_ipv6 = CURL_IPRESOLVE_V6;
static const CURLcode clibcurl_too_large = (CURLcode)100;

typedef size_t (*clibcurl_data_callback)(char *_Nonnull data, size_t size, size_t count, void *_Nullable context);
typedef curl_socket_t (*clibcurl_socket_callback)(void *_Nullable context, curlsocktype purpose,
                                                  struct curl_sockaddr *_Nonnull address);
typedef int (*clibcurl_debug_callback)(CURL *_Nonnull easy, curl_infotype kind, char *_Nonnull data, size_t count,
                                       void *_Nullable context);

const char *_Nonnull clibcurl_version(void);

CURL *_Nullable clibcurl_easy_init(void);
void clibcurl_easy_cleanup(CURL *_Nonnull easy);
void clibcurl_easy_reset(CURL *_Nonnull easy);
CURLcode clibcurl_easy_pause(CURL *_Nonnull easy, int bitmask);
const char *_Nonnull clibcurl_easy_strerror(CURLcode code);

CURLcode clibcurl_setopt_long(CURL *_Nonnull easy, CURLoption option, long value);
CURLcode clibcurl_setopt_offset(CURL *_Nonnull easy, CURLoption option, curl_off_t value);
CURLcode clibcurl_setopt_string(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value);
CURLcode clibcurl_setopt_pointer(CURL *_Nonnull easy, CURLoption option, void *_Nullable value);
CURLcode clibcurl_setopt_list(CURL *_Nonnull easy, CURLoption option, struct curl_slist *_Nullable value);
CURLcode clibcurl_setopt_data_callback(CURL *_Nonnull easy, CURLoption option, clibcurl_data_callback _Nullable value);
/// Sets the callback that opens sockets; `address` is the address to connect to, and without a socket no connection is
/// made.
CURLcode clibcurl_setopt_socket_callback(CURL *_Nonnull easy, clibcurl_socket_callback _Nullable value);
CURLcode clibcurl_setopt_debug_callback(CURL *_Nonnull easy, clibcurl_debug_callback _Nullable value);

CURLcode clibcurl_getinfo_long(CURL *_Nonnull easy, CURLINFO info, long *_Nonnull value);
CURLcode clibcurl_getinfo_offset(CURL *_Nonnull easy, CURLINFO info, curl_off_t *_Nonnull value);
CURLcode clibcurl_getinfo_pointer(CURL *_Nonnull easy, CURLINFO info, void *_Nullable *_Nonnull value);

/// NULL without memory, and without the descriptors by which it is woken: it would sleep through what other threads want.
CURLM *_Nullable clibcurl_multi_init(void);
CURLMcode clibcurl_multi_cleanup(CURLM *_Nonnull multi);
CURLMcode clibcurl_multi_add_handle(CURLM *_Nonnull multi, CURL *_Nonnull easy);
CURLMcode clibcurl_multi_remove_handle(CURLM *_Nonnull multi, CURL *_Nonnull easy);
CURLMcode clibcurl_multi_perform(CURLM *_Nonnull multi, int *_Nonnull running);
CURLMcode clibcurl_multi_poll(CURLM *_Nonnull multi, int timeout_milliseconds);
CURLMcode clibcurl_multi_wakeup(CURLM *_Nonnull multi);
CURLMcode clibcurl_multi_setopt_long(CURLM *_Nonnull multi, CURLMoption option, long value);
const char *_Nonnull clibcurl_multi_strerror(CURLMcode code);
/// The next transfer that is done: its handle, and its result in `code`; NULL when there is none.
CURL *_Nullable clibcurl_multi_next_done(CURLM *_Nonnull multi, CURLcode *_Nonnull code);

CURLSH *_Nullable clibcurl_share_init(void);
CURLSHcode clibcurl_share_cleanup(CURLSH *_Nonnull share);
/// Shares one kind of data. No locks are set: every handle of the share must be used by one thread only.
CURLSHcode clibcurl_share_data(CURLSH *_Nonnull share, curl_lock_data kind);

struct curl_slist *_Nullable clibcurl_slist_append(struct curl_slist *_Nullable list, const char *_Nonnull line);
void clibcurl_slist_free(struct curl_slist *_Nullable list);

#ifdef __cplusplus
}
#endif
// clang-format on
#endif
