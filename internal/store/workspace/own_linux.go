package workspace

import "golang.org/x/sys/unix"

// identity returns a folder's inode number, and its creation time in nanoseconds, which is 0 if the file
// system does not keep it.
func identity(dir string) (number uint64, born int64, err error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return plainIdentity(dir)
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return st.Ino, born, nil
}
