package pages

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"tape/internal/git/gitstore"
	storetest "tape/internal/testkit/store"
)

// What is written is in the tree, what is not touched stays, and empty folders go.
func TestFolder(t *testing.T) {
	s := storetest.New(t, nil)
	git := storetest.Inner(s).Git()
	tree := gitstore.ZeroHash
	change := func(do func(f *Folder)) {
		t.Helper()
		batch := git.NewBatch()
		f, err := openFolder(git, batch, tree)
		storetest.Must(t, err)
		do(f)
		tree = f.Tree()
		storetest.Must(t, batch.Flush(t.Context()))
	}
	change(func(f *Folder) {
		for _, name := range []string{"a", "d/b", "d/e/c", "other/x"} {
			storetest.Must(t, f.Write(name, []byte("text of "+name)))
		}
		if err := f.Write("../out", nil); err == nil {
			t.Error("a name led out of the folder")
		}
	})
	change(func(f *Folder) {
		storetest.Must(t, f.Write("d/b", []byte("changed")))
		storetest.Must(t, f.Remove("d/e/c"))
		storetest.Must(t, f.Remove("none/at/all"))
		if err := f.Remove("../out"); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("removing a name outside of the folder: %v, want fs.ErrInvalid", err)
		}
		if _, err := f.Read("d/none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("reading a missing file: %v, want fs.ErrNotExist", err)
		}
	})
	list := strings.Fields(storetest.Git(t, s.Dir(), "ls-tree", "-r", "--name-only", tree.String()))
	if want := []string{"a", "d/b", "other/x"}; !slices.Equal(list, want) {
		t.Errorf("the tree has %q, want %q", list, want)
	}
	change(func(f *Folder) {
		data, err := f.Read("d/b")
		if size, sizeErr := f.Size("other/x"); err != nil || sizeErr != nil || string(data) != "changed" || size != int64(len("text of other/x")) {
			t.Errorf("d/b is %q, %v, want \"changed\"; the size of other/x is %d, %v", data, err, size, sizeErr)
		}
	})
}
