// filled by the first slice
