import Glibc

/// Returns true if this process is built with AddressSanitizer or ThreadSanitizer.
public func isSanitized() -> Bool { dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil }
