//go:build !linux && !darwin && !windows

package gitindex

import "io/fs"

// systemStat returns the parts that every system has; git fills in the rest when it first checks the file.
func systemStat(st fs.FileInfo) indexStat { return portableStat(st) }
