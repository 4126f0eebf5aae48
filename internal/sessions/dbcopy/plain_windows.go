package dbcopy

import "io/fs"

// linked reports false: a file's information does not have the number of its names here.
func linked(fs.FileInfo) bool { return false }
