package workspace

import "syscall"

// identity returns a folder's file number, and its creation time in nanoseconds.
func identity(dir string) (number uint64, born int64, err error) {
	path, err := syscall.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	const share = syscall.FILE_SHARE_READ | syscall.FILE_SHARE_WRITE | syscall.FILE_SHARE_DELETE
	h, err := syscall.CreateFile(path, 0, share, nil, syscall.OPEN_EXISTING, syscall.FILE_FLAG_BACKUP_SEMANTICS|syscall.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return 0, 0, err
	}
	defer syscall.CloseHandle(h)
	var st syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(h, &st); err != nil {
		return 0, 0, err
	}
	return uint64(st.FileIndexHigh)<<32 | uint64(st.FileIndexLow), st.CreationTime.Nanoseconds(), nil
}
