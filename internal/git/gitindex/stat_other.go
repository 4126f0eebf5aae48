//go:build !linux && !darwin && !windows

package gitindex

import "io/fs"

// systemStat takes what is known everywhere; git looks at the rest by itself once.
func systemStat(st fs.FileInfo) indexStat { return portableStat(st) }
