import ImageCache

extension StoreOptions {
    /// `--cache-dir`, `$IMGCACHE_DIR`, `$XDG_CACHE_HOME/imgcache` or `~/.cache/imgcache`.
    var directory: String { cacheDir ?? ImageCache.defaultDirectory }
}
