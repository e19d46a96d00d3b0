package initiator

// Break cuts the queue's connection, as a fault would.
func (q *Queue) Break() { _ = q.q.Close() }
