package chatgpt

import "tape/internal/sessions/importer/record"

// Format is the format of ChatGPT's export.
var Format = record.Format{
	Name: "chatgpt", Title: "ChatGPT", Read: Read, Describe: Describe, Many: true,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(m.Has("mapping", "current_node") || m.Has("mapping", "conversation_id") || m.Has("mapping", "title") && (m.Has("create_time") || m.Has("id")))
	},
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(record.ContainsAll(head, `"mapping"`, `"parent"`, `"author"`, `"parts"`))
	},
}
