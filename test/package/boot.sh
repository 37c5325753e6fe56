#!/bin/sh
# Boots systemd on this machine's files, in namespaces of their own: boot.sh DIRECTORY SHARED PATH… What is written goes to memory, except
# in SHARED, and is gone with the processes. Each PATH is there too, also if it is in /tmp, which a boot empties. It replaces itself with
# systemd. Started by operator.ts.
set -eu

work=$1 shared=$2
shift 2
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$work"
mkdir "$work/changes" "$work/overlay" "$work/root"
root=$work/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/changes,workdir=$work/overlay" "$root"
# An archive or settings that this machine has would take the place of those of the package.
rm -rf "$root/var/lib/bookreel" "$root/etc/bookreel" "$root/var/backups/bookreel"
mkdir -p "$root$shared"
mount --bind "$shared" "$root$shared"
for path in "$@"; do
  mkdir -p "$root$path"
  mount --bind "$path" "$root$path"
  mount -o remount,bind,ro "$root$path"
done
ip link set lo up

mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t sysfs -o ro sysfs "$root/sys"
if [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
  mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
  mkdir "$root/sys/fs/cgroup/memory" "$root/sys/fs/cgroup/pids" "$root/sys/fs/cgroup/systemd"
  mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
  mount -t cgroup -o memory cgroup "$root/sys/fs/cgroup/memory"
  mount -t cgroup -o pids cgroup "$root/sys/fs/cgroup/pids"
fi
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm" "$root/dev/pts" "$root/dev/mqueue"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
# systemd mounts the credentials of services.
mount --make-rshared "$root"
exec env -i container=operator PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" /lib/systemd/systemd --system --unit=basic.target
