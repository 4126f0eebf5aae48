package site

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// The search is over the texts of all sessions, which are in a few files of JavaScript, because a page that was
// opened from a folder may not read other files. A file has a line for each of its sessions.

const searchFiles = 16

// searchFile is the file that has a session's texts.
func searchFile(folder string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(folder))
	return fmt.Sprintf("%s/%x.js", searchDir, h.Sum32()%searchFiles)
}

const linePrefix = "tapeTexts("

// textLine is the line of a session, which begins with its folder.
func textLine(x Session, texts []any) ([]byte, error) {
	title := x.Title
	raw, err := json.Marshal([]any{x.Folder, title, x.Updated.Format(time.DateOnly), texts})
	return slices.Concat([]byte(linePrefix), raw, []byte(");\n")), err
}

// folderOf is the session's folder in a line, "" if it is none of ours.
func folderOf(line []byte) (folder string) {
	rest, ok := bytes.CutPrefix(line, []byte(linePrefix+"["))
	end := bytes.IndexByte(rest, ',')
	if !ok || end < 0 || json.Unmarshal(rest[:end], &folder) != nil {
		return ""
	}
	return folder
}

// writeTexts writes the files for the search in which a session has changed.
func (s *Site) writeTexts() error {
	files := map[string]bool{}
	for folder := range s.texts {
		files[searchFile(folder)] = true
	}
	for name := range files {
		old, err := s.folder.Read(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		lines := map[string][]byte{}
		for line := range bytes.Lines(old) {
			if folder := folderOf(line); s.has(folder) {
				lines[folder] = line
			}
		}
		for folder, line := range s.texts {
			if searchFile(folder) == name {
				lines[folder] = line
			}
		}
		var folders []string
		for folder, line := range lines {
			if line != nil {
				folders = append(folders, folder)
			}
		}
		slices.Sort(folders)
		var b bytes.Buffer
		b.WriteString("// " + madeBy + "\n")
		for _, folder := range folders {
			b.Write(lines[folder])
		}
		if len(folders) == 0 {
			err = s.folder.Remove(name)
		} else {
			err = s.write(name, b.Bytes())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Site) has(folder string) bool {
	return slices.ContainsFunc(s.sessions, func(x Session) bool { return x.Folder == folder })
}

// searchNames are the files of the search, without their folder.
func (s *Site) searchNames() string {
	var names []string
	for _, x := range s.sessions {
		if name := strings.TrimSuffix(path.Base(searchFile(x.Folder)), ".js"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
