package audit_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// artifactCases have something in a folder of artifacts that is not an artifact, or refer to a missing one.
func artifactCases() []evilCase {
	const content = "what an artifact holds\n"
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	with := func(what, want string, list func(c *tip) []entry) evilCase {
		return changeMain("artifacts: "+what, want, func(c *tip) {
			put(&c.phase, entry{folder, "artifacts", c.tree(list(c)...)})
			c.push(c.save())
		})
	}
	one := func(what, mode, name, want string) evilCase {
		return with(what, want, func(c *tip) []entry {
			hash := c.blob(content)
			switch mode {
			case folder:
				hash = c.tree(entry{file, name, hash})
			case "160000":
				hash = c.commit
			}
			return []entry{{mode, name, hash}}
		})
	}
	const plain = "only plain files"
	return []evilCase{
		one("a symbolic link", "120000", name, plain),
		one("a program", "100755", name, plain),
		one("a submodule", "160000", name, plain),
		one("a folder", folder, name, plain),
		one("another name", file, "notes.txt", plain),
		one("settings", file, ".gitattributes", plain),
		one("out of the folder", file, "..", plain),
		one("in upper case", file, strings.ToUpper(name), plain),
		one("a name that is too short", file, name[:63], plain),
		one("the name of another content", file, strings.Repeat("0", 64), "the content does not match the name"),
		with("a large one", "the limit", func(c *tip) []entry {
			return []entry{{file, name, c.blob(strings.Repeat("x", 65<<20))}}
		}),
		with("one that inflates to 4 GiB", "the limit", func(c *tip) []entry {
			return []entry{{file, name, c.loose("blob", 'x', 4<<30)}}
		}).unsent(),
		changeMain("artifacts: a file where the folder should be", "nothing but tape.json", func(c *tip) {
			put(&c.phase, entry{file, "artifacts", c.blob(content)})
			c.push(c.save())
		}),
		changeMain("artifacts: one is missing", "which is missing", func(c *tip) {
			line := fmt.Sprintf(`{"id":%d,"kind":"message","payload":{"role":"user","content":"x","artifact":{"id":%q,"mime_type":"a/b","name":"","size_bytes":1,"sha256":%q}},"meta":{}}`, c.last()+1, name, name)
			put(&c.phase, entry{file, "messages.jsonl", c.blob(c.messages() + line + "\n")})
			c.push(c.save())
		}),
		changeMain("artifacts: of a closed phase", "the phase is closed", func(c *tip) {
			first := c.list(c.anchors[0].hash)
			put(&first, entry{folder, "artifacts", c.tree(entry{file, name, c.blob(content)})})
			c.anchors[0].hash = c.tree(first...)
			c.push(c.saveAnchors())
		}),
	}
}
