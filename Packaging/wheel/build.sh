# Sourced by scripts/package: writes the wheel.
python3 Packaging/wheel/build.py "$work/stage/bin/imgcache" "$version${suffix:+.dev$suffix}" "$output"
