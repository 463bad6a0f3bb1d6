#!/usr/bin/env bash
# pack.sh PROGRAM VECTORS FOLDER: FOLDER and FOLDER.tar.gz with the program, the known answers, and
# the libraries that are no part of a bare system: all but those of the C library and of the
# compiler, which Debian and Ubuntu always have; this machine's would ask for a newer C library than
# the rest does.
set -euo pipefail
program=$1 vectors=$2 folder=$3
rm -rf "$folder" "$folder.tar.gz"
mkdir -p "$folder/vectors"
cp "$program" "$folder/"
strip "$folder/$(basename "$program")"
cp "$vectors"/*.json "$folder/vectors/"
ldd "$program" | awk '$2 == "=>" { print $1, $3 }' | while read -r name path; do
  case $name in
    libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.*) ;;
    libstdc++.so.* | libgcc_s.so.*) ;;
    *) cp -L "$path" "$folder/$name" ;;
  esac
done
tar -C "$(dirname "$folder")" -czf "$folder.tar.gz" "$(basename "$folder")"
bytes=$(du -sb "$folder" | cut -f1)
newest() { # newest PATTERN: the highest symbol version that is asked for
  find "$folder" -maxdepth 1 -type f -exec objdump -T {} + 2>/dev/null | grep -o "$1[0-9.]*" |
    sort -uV | tail -n 1
}
printf 'gpu-check: %s, %d bytes; needs a driver, %s of the C library and %s of libstdc++\n' \
  "$folder" "$bytes" "$(newest GLIBC_)" "$(newest GLIBCXX_)"
if ((bytes > 64 << 20)); then
  echo "gpu-check: more than 64 MiB" >&2
  exit 1
fi
