package layout

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"tape/internal/text/jsonl"
)

// ArtifactLimit is how many bytes an artifact may have. It is read into memory when it is
// committed, and hosts of repositories refuse files that are larger still.
const ArtifactLimit = 64 << 20

// MetaAbsent is the key in the meta of an entry that lists the artifacts which did not come with it.
const MetaAbsent = "absent"

// ArtifactKey is the key of a reference, as it is written.
const ArtifactKey = `"artifact"`

// AnyType is the MIME type of an artifact of which nothing is known.
const AnyType = "application/octet-stream"

// artifactDepth is how deep in a payload references are looked for.
const artifactDepth = 8

// Artifact is a file of a phase, which entries refer to by the SHA-256 of its content.
type Artifact struct {
	ID       string `json:"id"` // the same as SHA256
	MIMEType string `json:"mime_type"`
	Name     string `json:"name"` // what people call it; "" if nothing
	Size     int64  `json:"size_bytes"`
	SHA256   string `json:"sha256"` // 64 lower-case hex digits
}

// Reference is the object that stands for the artifact in a payload, under the key "artifact".
func (a Artifact) Reference() json.RawMessage {
	out := jsonl.AppendString([]byte(`{"id":`), a.SHA256)
	out = jsonl.AppendString(append(out, `,"mime_type":`...), a.MIMEType)
	out = jsonl.AppendString(append(out, `,"name":`...), a.Name)
	out = strconv.AppendInt(append(out, `,"size_bytes":`...), a.Size, 10)
	out = jsonl.AppendString(append(out, `,"sha256":`...), a.SHA256)
	return append(out, '}')
}

// About is the name, type and size, for people.
func (a Artifact) About() string {
	return strings.TrimPrefix(a.Name+", ", ", ") + a.MIMEType + ", " + strconv.FormatInt(a.Size, 10) + " bytes"
}

// IsArtifactName reports whether a file among the artifacts of a phase may have a name.
func IsArtifactName(name string) bool {
	sum, err := hex.DecodeString(name)
	return err == nil && len(sum) == 32 && hex.EncodeToString(sum) == name
}

// Artifacts are the well-formed references to artifacts in the payload of an entry.
func Artifacts(payload []byte) []Artifact {
	var out []Artifact
	references(payload, artifactDepth, func(ref []byte) {
		if a, err := parseArtifact(ref); err == nil {
			out = append(out, a)
		}
	})
	return out
}

// CheckArtifacts is Artifacts of what is handed in: what is meant as a reference has to be one.
func CheckArtifacts(payload []byte) (out []Artifact, err error) {
	references(payload, artifactDepth, func(ref []byte) {
		a, bad := parseArtifact(ref)
		if bad != nil && err == nil {
			err = bad
		}
		out = append(out, a)
	})
	return out, err
}

// references calls f for each object under the key "artifact" that has a member "sha256".
func references(value []byte, depth int, f func(ref []byte)) {
	if depth == 0 || !bytes.Contains(value, []byte(ArtifactKey)) {
		return
	}
	for key, v := range jsonl.Fields(value) {
		if key == "artifact" && jsonl.Get(v, "sha256") != nil {
			f(v)
		} else {
			references(v, depth-1, f)
		}
	}
	for v := range jsonl.Elements(value) {
		references(v, depth-1, f)
	}
}

// RenameArtifact has the references of a payload to one artifact refer to another, whose id and size
// it takes over.
func RenameArtifact(payload []byte, old, next Artifact) []byte {
	out := payload
	references(payload, artifactDepth, func(ref []byte) {
		if a, err := parseArtifact(ref); err != nil || a.SHA256 != old.SHA256 {
			return
		}
		is := bytes.ReplaceAll(ref, []byte(old.SHA256), []byte(next.SHA256))
		size := func(n int64) []byte { return strconv.AppendInt([]byte(`"size_bytes":`), n, 10) }
		is = bytes.Replace(is, size(old.Size), size(next.Size), 1)
		out = bytes.ReplaceAll(out, ref, is)
	})
	return out
}

func parseArtifact(ref []byte) (Artifact, error) {
	a := Artifact{ID: jsonl.GetString(ref, "id"), MIMEType: jsonl.GetString(ref, "mime_type"), Name: jsonl.GetString(ref, "name"), SHA256: jsonl.GetString(ref, "sha256")}
	size, err := strconv.ParseInt(string(jsonl.Get(ref, "size_bytes")), 10, 64)
	a.Size = size
	switch {
	case !IsArtifactName(a.SHA256):
		return a, Invalid("", "an artifact's sha256 has 64 lower-case hex digits: %.100q", a.SHA256)
	case a.ID != a.SHA256:
		return a, Invalid("", "an artifact's id is its sha256, not %.100q", a.ID)
	case a.MIMEType == "":
		return a, Invalid("where nothing is known of it, that is "+AnyType, "the artifact %s needs a mime_type", a.SHA256)
	case err != nil || size < 0:
		return a, Invalid("", "the artifact %s needs size_bytes, a number", a.SHA256)
	}
	return a, nil
}
