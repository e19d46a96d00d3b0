// Package store says where runs are kept: small documents that are changed by
// compare-and-swap, blobs, and leases. What weft did to a device is kept on the
// device; a store makes a run outlive the machine that began it.
//
// There are two: a directory (store/dir) and NATS JetStream (store/nats). Both pass
// store/storetest, so that nobody has to ask which one it is.
//
// # Retention
//
// A document stays until it is deleted, and only its last value is kept. A deleted
// one leaves no value. A blob stays until it is deleted. A lease that has ended
// leaves its record, of some hundred bytes, until the next holder takes it. How far
// back a watch can begin says each store: dir keeps the last changes of at least
// 8 MB of log, NATS the last change of every key, deletions too.
package store

import (
	"context"
	"io"
	"iter"
	"time"
)

// A Revision numbers a change. It rises with every change of a store, is never given
// twice, and is above 0.
type Revision uint64

// A Store keeps documents, blobs and leases. All methods may be called by many
// goroutines at once. Without a deadline in the context a store that is away is
// waited for as long as its options say, and then is an UnavailableError. What its
// user may not do is a DeniedError.
type Store interface {
	// Get reads a document: everything that was acknowledged before to anybody is seen.
	// NotFoundError.
	Get(ctx context.Context, key string) (Entry, error)
	// Create writes a document that is not there. ExistsError.
	Create(ctx context.Context, key string, value []byte) (Revision, error)
	// Update writes a document that nobody changed since a revision. StaleError,
	// NotFoundError.
	Update(ctx context.Context, key string, value []byte, at Revision) (Revision, error)
	// Delete takes away a document that nobody changed since a revision. StaleError,
	// NotFoundError.
	Delete(ctx context.Context, key string, at Revision) error
	// List reads the documents below a folder ("run/r1" has run/r1/plan, and not
	// run/r1; "" has all), in order of their keys. Each is as it was at some moment
	// of the call. A watch from the revision that it returns misses nothing that the
	// list does not have. Documents that cannot be read are named in the error; the
	// others are returned beside it.
	List(ctx context.Context, folder string) ([]Entry, Revision, error)
	// Watch waits for changes below a folder, and yields those after a revision in
	// their order, until the context or the loop ends; an error is its last pair. A
	// value that was overwritten before it was read is gone, and the next event of
	// its key says so (Event.Missed). A GapError means that whole changes are gone:
	// list again. After an UnavailableError a watch goes on from the last revision.
	Watch(ctx context.Context, folder string, from Revision) iter.Seq2[Event, error]

	// Lease gives the holder a key that nobody else is given before it is released or
	// was not renewed for ttl, by the store's clock. Keys of leases are apart from
	// those of documents. HeldError.
	Lease(ctx context.Context, key, holder string, ttl time.Duration) (*Lease, error)

	// Leases lists who has leases below a folder, in order of their keys. One that has
	// ended is not among them, or has nothing left.
	Leases(ctx context.Context, folder string) ([]Holding, error)
	// Break ends a lease that was listed, for a holder who is known to be gone: its
	// next renewal is a LostError. It is one also here where that holder does not have
	// it any more.
	Break(ctx context.Context, h Holding) error

	// Epoch is that of the tokens of leases: it rises when a store is made anew or put
	// back from a copy.
	Epoch(ctx context.Context) (uint64, error)

	// PutBlob keeps all that a reader has, under its sum. To put the same again
	// changes nothing, and mends one that is corrupt.
	PutBlob(ctx context.Context, from io.Reader) (Digest, error)
	// Blob reads a blob. What it yields may be used after io.EOF only: until then it
	// may end in a CorruptError. NotFoundError.
	Blob(ctx context.Context, d Digest) (io.ReadCloser, error)
	// Blobs lists the blobs, in order of their names.
	Blobs(ctx context.Context) ([]Digest, error)
	// DeleteBlob takes a blob away. NotFoundError.
	DeleteBlob(ctx context.Context, d Digest) error

	// Restored is to be called once after a store was put back from a copy: tokens
	// rise above all that were given before, whatever the copy knows of them.
	Restored(ctx context.Context) error
	// Close lets go of the store; leases are not released.
	Close() error
}

// An Entry is a document as it was read.
type Entry struct {
	Key      string
	Value    []byte
	Revision Revision
	Written  time.Time // by the store's clock
}

// An Event is a change of a document.
type Event struct {
	Entry
	Deleted bool // there is no value
	Missed  bool // changes of this key before this one, after the watch's beginning, are gone
}
