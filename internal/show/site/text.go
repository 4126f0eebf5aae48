package site

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// The texts that the search looks through are in a few files of JavaScript, because a page that was opened from
// a folder may not read other files. A file has a line for each of its sessions.

const searchFiles = 16

// searchFile returns the search file that has a session's texts.
func searchFile(folder string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(folder))
	return searchName(h.Sum32() % searchFiles)
}

func searchName(n uint32) string { return fmt.Sprintf("%s/%x.js", searchDir, n) }

const linePrefix = "tapeTexts("

// textLine returns the line of a session, which begins with its folder.
func textLine(x Session, texts []any) ([]byte, error) {
	raw, err := json.Marshal([]any{x.Folder, x.Title, dayOf(x, time.DateOnly), texts})
	return slices.Concat([]byte(linePrefix), raw, []byte(");\n")), err
}

// folderOf returns the session's folder in a line, "" if we did not write the line.
func folderOf(line []byte) (folder string) {
	rest, ok := bytes.CutPrefix(line, []byte(linePrefix+"["))
	end := bytes.IndexByte(rest, ',')
	if !ok || end < 0 || json.Unmarshal(rest[:end], &folder) != nil {
		return ""
	}
	return folder
}

// writeTexts writes the search files of the sessions that changed.
func (s *Site) writeTexts() error {
	files := map[string]bool{}
	for folder := range s.texts {
		files[searchFile(folder)] = true
	}
	for name := range files {
		old, err := s.readOurs(name)
		if err != nil {
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
		maps.DeleteFunc(lines, func(_ string, line []byte) bool { return line == nil })
		folders := slices.Sorted(maps.Keys(lines))
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

// searchNames returns the names of the search files, without folder and extension, separated by spaces.
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
