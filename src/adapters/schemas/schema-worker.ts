/** The thread in which schemas from outside are compiled and used. */
import { serveOrders } from '../../runtime/kernel/worker-orders.ts'
import { checkSchema, type SchemaFindings, type SchemaOrder } from './check-schema.ts'

serveOrders<SchemaOrder, never, SchemaFindings>((order) => checkSchema(order))
