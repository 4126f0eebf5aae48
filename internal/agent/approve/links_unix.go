//go:build unix

package approve

import (
	"io/fs"
	"syscall"
)

// hasOtherNames reports whether a file has more than one name.
func hasOtherNames(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}
