//go:build unix && !linux && !darwin

package workspace

// identity returns a folder's inode number; the creation time, which is unknown here, is 0.
func identity(dir string) (number uint64, born int64, err error) { return plainIdentity(dir) }
