package gitindex

import (
	"io/fs"
	"syscall"
)

// systemStat returns the parts of a file's status that git's index stores, each cut to 32 bits.
func systemStat(st fs.FileInfo) indexStat {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return portableStat(st)
	}
	return indexStat{
		ctimeSec: uint32(s.Ctimespec.Sec), ctimeNano: uint32(s.Ctimespec.Nsec),
		mtimeSec: uint32(s.Mtimespec.Sec), mtimeNano: uint32(s.Mtimespec.Nsec),
		dev: uint32(s.Dev), ino: uint32(s.Ino), uid: s.Uid, gid: s.Gid, size: uint32(s.Size),
	}
}
