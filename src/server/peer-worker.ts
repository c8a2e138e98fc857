/** The thread that looks up peers: reading /proc takes too long for the main one. */
import { serveOrders } from '../runtime/kernel/worker-orders.ts'
import { searchPeers, type FoundPeer, type PeerSearch } from './peer-search.ts'

serveOrders<PeerSearch, never, FoundPeer[]>(searchPeers)
