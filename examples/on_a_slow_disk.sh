#!/bin/sh
# Runs a command on a file system on a served drive, and records what the drive was asked:
#
#     sudo ./on_a_slow_disk.sh FOLDER COMMAND ...
#
# The command runs in FOLDER/mnt. FOLDER gets the disk (disk.img, if it is not there yet), the trace
# (work.csv), and what was served (served.txt). OPTIONS in the environment are for `diskarm serve`;
# with OPTIONS=--instant nothing is recorded. Debian has what this needs in the packages libnbd-bin,
# python3-libnbd, fuse3 and e2fsprogs. Mounting needs root.
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift
cd "$folder"
mkdir -p fuse mnt
if [ ! -e disk.img ]; then
    mke2fs -q -t ext4 -O ^has_journal disk.img "${SIZE:-64M}" 2>/dev/null
fi
uri="nbd+unix:///?socket=$folder/disk.sock"
options=${OPTIONS:-}
case "$options" in *--instant*) ;; *) options="$options --record work.csv" ;; esac

# Word by word: options are several.
# shellcheck disable=SC2086
diskarm serve nbd --drive hp-c2247 --store file:disk.img --listen unix:disk.sock $options \
    >served.txt 2>server.log &
server=$!
# If a program is missing, nothing is left running.
trap 'kill "$server"' EXIT
until [ -S disk.sock ]; do sleep 0.1; done
# Time begins with a read, and not with the flush that nbdfuse sends first: so it does in the trace.
nbdsh -u "$uri" -c 'h.pread(512, 0)'
nbdfuse fuse "$uri" &
fuse=$!
until [ -e fuse/nbd ]; do sleep 0.1; done
loop=$(losetup --find --show --direct-io=on fuse/nbd)
mount -o noatime "$loop" mnt

status=0
(cd mnt && "$@") || status=$?

umount mnt
losetup --detach "$loop"
fusermount3 -u fuse
wait "$fuse" || true
trap - EXIT
kill "$server"
wait "$server"
cat served.txt
exit "$status"
