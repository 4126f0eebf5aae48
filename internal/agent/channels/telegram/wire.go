package telegram

import "encoding/json"

// The parts of the Bot API's objects that are used (https://core.telegram.org/bots/api#available-types).

type update struct {
	Message *message `json:"message"`
	Edited  *message `json:"edited_message"`
}

type message struct {
	ID           int64           `json:"message_id"`
	Thread       int64           `json:"message_thread_id"`
	InTopic      bool            `json:"is_topic_message"`
	From         *user           `json:"from"`
	SenderChat   *chat           `json:"sender_chat"`
	Chat         *chat           `json:"chat"`
	Date         int64           `json:"date"`
	ReplyTo      *message        `json:"reply_to_message"`
	TopicCreated json.RawMessage `json:"forum_topic_created"`
	Album        string          `json:"media_group_id"`
	Text         string          `json:"text"`
	Entities     []entity        `json:"entities"`
	Caption      string          `json:"caption"`
	CapEntities  []entity        `json:"caption_entities"`
	MigrateTo    int64           `json:"migrate_to_chat_id"`

	Photo     []file `json:"photo"`
	Animation *file  `json:"animation"`
	Document  *file  `json:"document"`
	Audio     *file  `json:"audio"`
	Voice     *file  `json:"voice"`
	Video     *file  `json:"video"`
	VideoNote *file  `json:"video_note"`
	Sticker   *file  `json:"sticker"`
}

type user struct {
	ID       int64  `json:"id"`
	IsBot    bool   `json:"is_bot"`
	Name     string `json:"first_name"`
	LastName string `json:"last_name"`
	Username string `json:"username"`
}

type chat struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"` // private, group, supergroup, channel
	Title    string `json:"title"`
	Username string `json:"username"`
}

// entity is a marked part of a text; offset and length count UTF-16 units.
type entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	Language string `json:"language,omitempty"`
	User     *user  `json:"user,omitempty"`
	URL      string `json:"url,omitempty"`
}

// file is any of the objects that describe a file.
type file struct {
	ID       string `json:"file_id"`
	Size     int64  `json:"file_size"`
	Name     string `json:"file_name"`
	MIMEType string `json:"mime_type"`
	Duration int64  `json:"duration"`
	Emoji    string `json:"emoji"`
	Animated bool   `json:"is_animated"` // of a sticker
	IsVideo  bool   `json:"is_video"`    // of a sticker
	Path     string `json:"file_path"`   // in the answer to getFile
}

// content returns a message's text and its entities.
func (m *message) content() (string, []entity) {
	if m.Text != "" {
		return m.Text, m.Entities
	}
	return m.Caption, m.CapEntities
}
