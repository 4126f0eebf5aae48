package gitindex

import (
	"io/fs"
	"syscall"
)

// systemStat takes from a file's status what Git for Windows keeps of it: the change
// time is the creation time, and there are no numbers of device, inode and owner.
func systemStat(st fs.FileInfo) indexStat {
	s := portableStat(st)
	if d, ok := st.Sys().(*syscall.Win32FileAttributeData); ok {
		n := d.CreationTime.Nanoseconds()
		s.ctimeSec, s.ctimeNano = uint32(n/1e9), uint32(n%1e9)
	}
	return s
}
