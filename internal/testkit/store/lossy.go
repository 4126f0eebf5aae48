package storetest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tape/internal/git/disk"
)

// LossyDisk simulates a power cut for a folder. It keeps track of what is durable on the disk:
// [LossyDisk.Before] has to be called before each operation of the program. [LossyDisk.Restart] then
// removes from the folder everything that was never synced. What other programs have made there stays.
type LossyDisk struct {
	root string
	mu   sync.Mutex
	// nodes are the durable states of files and folders, by inode. A new one has neither content nor
	// names until it is synced.
	nodes map[uint64]lossyNode
	made  map[string]bool // paths of files and folders that are about to be created
	held  []*os.File      // open files, so that the system does not reuse their inodes
}

// lossyNode is the durable state of a file, link or folder.
type lossyNode struct {
	mode  fs.FileMode
	time  time.Time
	data  []byte            // the content of a file, or the target of a link
	names map[string]uint64 // of a folder
}

// NewLossyDisk returns a LossyDisk for a folder. Everything in it counts as durable.
func NewLossyDisk(t testing.TB, root string) *LossyDisk {
	t.Helper()
	l := &LossyDisk{root: root, nodes: map[uint64]lossyNode{}, made: map[string]bool{}}
	t.Cleanup(l.Close)
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		l.record(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Close closes the files that it holds open. It may be called several times.
func (l *LossyDisk) Close() {
	for _, f := range l.held {
		_ = f.Close()
	}
	l.held = nil
}

// Before has to be called before each operation.
func (l *LossyDisk) Before(op disk.Op, path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteCreated()
	switch op {
	case disk.OpOpen, disk.OpMkdir:
		if _, err := os.Lstat(path); err != nil {
			l.made[path] = true
		}
	case disk.OpWrite, disk.OpTruncate:
		l.begin(path)
	case disk.OpSync, disk.OpSyncDir:
		l.record(path)
	case disk.OpRename, disk.OpRemove: // durable once the folder is synced
	}
}

// noteCreated notes the files and folders that were created since the last call.
func (l *LossyDisk) noteCreated() {
	for path := range l.made {
		if l.begin(path) {
			delete(l.made, path)
		}
	}
}

// begin notes a new file or folder, of which nothing is durable yet. It returns false if it does not exist.
func (l *LossyDisk) begin(path string) bool {
	st, err := os.Lstat(path)
	if err != nil {
		return false
	}
	if _, known := l.nodes[inode(st)]; !known {
		l.nodes[inode(st)] = lossyNode{mode: st.Mode(), time: st.ModTime()}
		l.hold(path)
	}
	return true
}

func (l *LossyDisk) hold(path string) {
	if f, err := os.Open(path); err == nil {
		l.held = append(l.held, f)
	}
}

// record notes that the present state of a file or folder is durable.
func (l *LossyDisk) record(path string) {
	st, err := os.Lstat(path)
	if err != nil {
		return
	}
	if _, known := l.nodes[inode(st)]; !known {
		l.hold(path)
	}
	l.nodes[inode(st)] = readNode(path, st)
}

func readNode(path string, st fs.FileInfo) lossyNode {
	n := lossyNode{mode: st.Mode(), time: st.ModTime()}
	switch {
	case st.IsDir():
		n.names = map[string]uint64{}
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			if st, err := e.Info(); err == nil {
				n.names[e.Name()] = inode(st)
			}
		}
	case st.Mode().IsRegular():
		n.data, _ = os.ReadFile(path)
	default:
		target, _ := os.Readlink(path)
		n.data = []byte(target)
	}
	return n
}

// Restart replaces the folder by its durable state.
func (l *LossyDisk) Restart(t testing.TB) {
	t.Helper()
	l.noteCreated()
	nodes := l.afterRestart()
	st, err := os.Lstat(l.root)
	if err == nil {
		err = os.RemoveAll(l.root)
	}
	if err == nil {
		err = writeNodes(nodes, inode(st), l.root)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// afterRestart returns the nodes after a restart: the durable state of what the program has made or changed,
// and the present state of everything else.
func (l *LossyDisk) afterRestart() map[uint64]lossyNode {
	out := maps.Clone(l.nodes)
	_ = filepath.WalkDir(l.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		st, err := e.Info()
		if err != nil {
			return nil
		}
		n, ours := out[inode(st)]
		now := readNode(path, st)
		if !ours {
			n = now
		} else if st.IsDir() {
			names := maps.Clone(n.names)
			if names == nil {
				names = map[string]uint64{}
			}
			for name, i := range now.names {
				if _, ours := l.nodes[i]; !ours {
					names[name] = i
				}
			}
			n.names = names
		}
		out[inode(st)] = n
		return nil
	})
	return out
}

func writeNodes(nodes map[uint64]lossyNode, at uint64, path string) error {
	n, ok := nodes[at]
	if !ok {
		return nil // another program made it, and removed it since
	}
	var err error
	switch {
	case n.mode.IsDir():
		err = os.Mkdir(path, 0o700)
		for name, i := range n.names {
			if err == nil {
				err = writeNodes(nodes, i, filepath.Join(path, name))
			}
		}
	case n.mode.IsRegular():
		err = os.WriteFile(path, n.data, n.mode.Perm())
	default:
		return os.Symlink(string(n.data), path)
	}
	if err == nil {
		err = os.Chtimes(path, n.time, n.time)
	}
	return err
}
