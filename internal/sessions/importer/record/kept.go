package record

import (
	"io"
	"os"
	"path"
	"strings"
)

// maxKept is the largest file with a result that is read, in bytes: an artifact may not be larger.
const maxKept = 64 << 20

// Kept returns the content of a file in which a program keeps the whole of a result; nil if there is none. root is the
// folder that the file must be in, folder its place in there, and named the path that the transcript gives: only its
// last part counts. So a transcript cannot name any other file, and a link that leads out of root is not followed.
func (s Source) Kept(root, folder, named string) []byte {
	name := path.Base(strings.ReplaceAll(strings.TrimSpace(named), `\`, "/"))
	if s.Name == "-" || name == "." || name == "/" || name == ".." {
		return nil
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer dir.Close()
	st, err := dir.Stat(path.Join(folder, name))
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxKept {
		return nil
	}
	f, err := dir.Open(path.Join(folder, name))
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxKept))
	if err != nil || len(data) == 0 {
		return nil
	}
	return data
}
