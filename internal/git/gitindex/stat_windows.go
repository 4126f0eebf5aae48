package gitindex

import (
	"io/fs"
	"syscall"
)

// systemStat returns the parts of a file's status that Git for Windows stores in its index: the
// creation time stands for the change time, and device, inode and owner are 0.
func systemStat(st fs.FileInfo) indexStat {
	s := portableStat(st)
	if d, ok := st.Sys().(*syscall.Win32FileAttributeData); ok {
		n := d.CreationTime.Nanoseconds()
		s.ctimeSec, s.ctimeNano = uint32(n/1e9), uint32(n%1e9)
	}
	return s
}
