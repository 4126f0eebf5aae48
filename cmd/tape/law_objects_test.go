package main

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// lawCopy copies a world. Paths in it that name the old place are changed to the new one.
func lawCopy(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dest := filepath.Join(to, strings.TrimPrefix(path, from))
		if d.IsDir() {
			return os.MkdirAll(dest, 0o700)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if d.Name() == "gitdir" || d.Name() == ".git" || d.Name() == "config" {
			raw = bytes.ReplaceAll(raw, []byte(from), []byte(to))
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		if err := os.WriteFile(dest, raw, st.Mode().Perm()|0o200); err != nil {
			return err
		}
		if err := os.Chmod(dest, st.Mode().Perm()); err != nil {
			return err
		}
		return os.Chtimes(dest, st.ModTime(), st.ModTime())
	})
}

// lawObjects returns the texts in all objects that can be read: loose ones, and those in packs, with or without an index.
func lawObjects(dir string) (map[string]bool, error) {
	out := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		if strings.HasSuffix(path, ".pack") {
			for text := range packTexts(raw) {
				out[text] = true
			}
			return nil
		}
		z, err := zlib.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil
		}
		data, err := io.ReadAll(z)
		name := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
		if sum := sha1.Sum(data); err != nil || hex.EncodeToString(sum[:]) != name {
			return nil
		}
		for _, text := range lawToken.FindAll(data, -1) {
			out[string(text)] = true
		}
		return nil
	})
	return out, err
}

var (
	packSeen  = map[[20]byte]map[string]bool{}
	packMutex sync.Mutex
)

// packTexts returns the texts in a pack, as far as git can unpack it.
func packTexts(raw []byte) map[string]bool {
	packMutex.Lock()
	defer packMutex.Unlock()
	key := sha1.Sum(raw)
	if out, ok := packSeen[key]; ok {
		return out
	}
	out := map[string]bool{}
	packSeen[key] = out
	dir, err := os.MkdirTemp("", "law-pack-*")
	if err != nil {
		return out
	}
	defer os.RemoveAll(dir)
	if exec.Command("git", "init", "-q", "--bare", dir).Run() != nil {
		return out
	}
	cmd := exec.Command("git", "--git-dir", dir, "unpack-objects", "-q", "-r")
	cmd.Stdin = bytes.NewReader(raw)
	_ = cmd.Run()
	if found, err := lawObjects(filepath.Join(dir, "objects")); err == nil {
		for text := range found {
			out[text] = true
		}
	}
	return out
}
